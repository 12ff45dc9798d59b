"""The review of an audit by batches whose groups err in their own way."""

import numpy as np
import pytest

from misnomer import audit
from misnomer.audit import collector
from misnomer.review import load_for_review
from misnomer.review.large import LargeRefit, LargeRows
from tests.audit.rows import save_stream
from tests.crowds import sites

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The rows on disk, and the same audit in memory."""
    place, frame = tmp_path_factory.mktemp("groups"), sites(900)[0]
    frame.loc[7, "y"] = None
    frame.to_csv(place / "rows.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collector, "SAMPLE", 300)
        save_stream(str(place / "rows.csv"), "y", place / "audit", noise_groups="site")
    rows = load_for_review(place / "audit")
    assert isinstance(rows, LargeRows) and len(rows.sample.given) == 300
    return rows, audit(frame, label="y", noise_groups="site")


def test_a_row_is_explained_by_the_channel_of_its_group(both):
    rows, whole = both
    for at in (0, *whole.ranking[:5].tolist()):
        got, want = rows.explain_at(at), whole.explain_at(at)
        assert got.log_odds == pytest.approx(want.log_odds, rel=1e-3)  # stored in single precision
        assert got.suggested == want.suggested
    assert rows.explain_at(7).suggested == whole.explain_at(7).suggested  # it has no label


def test_rows_are_judged_by_their_groups_after_a_refit(both):
    rows, whole = both
    model, known = rows.classifier.model_, whole.given >= 0
    batch = rows.batch(whole.data, whole.given)
    share = rows.posterior(model, batch)
    wrong = 1.0 - share[np.arange(900), whole.given]
    plain = 1.0 - model.posterior(batch)[np.arange(900), whole.given]
    off = [np.abs(one - whole.error_probability)[known].mean() for one in (wrong, plain)]
    assert off[0] < 0.7 * off[1]
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    worst = int(whole.ranking[0])
    again, ranking = LargeRefit(rows)({worst: int(whole.suggested[worst])}, 1)
    moved = again.posterior(again.classifier.model_, batch)[np.arange(900), whole.given]
    np.testing.assert_allclose(ranking.wrong[np.flatnonzero(known)], 1.0 - moved[known], atol=1e-6)
