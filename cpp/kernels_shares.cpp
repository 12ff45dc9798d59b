// The logarithms of shares, a tile of statistics at a time, in which the classes lie side by side.
//
// `Classes` is how many there are: a number that the compiler knows where they are few, so that
// loops over them are unrolled.
#include <algorithm>
#include <limits>

#include "lanes.hpp"
#include "shares.hpp"
#include "softmax.hpp"
#include "widths.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

constexpr double least_chance = 1e-300, least_share = 1e-9;

// Combine a tile with the numbers of a view: the inner loop runs where these lie side by side.
template <class Classes, class Body>
inline void each_cell(const Counts &from, Classes classes, Index first, Index size, double *tile,
                      const Body &body) {
    const double *data = from.data + first * from.by_statistic;
    if (from.by_class == 1) {
        for (Index s = 0; s < size; ++s)
            for (Index k = 0; k < classes; ++k)
                body(tile[s * classes + k], data[s * from.by_statistic + k]);
    } else if (from.by_class == 0) {
        for (Index s = 0; s < size; ++s)
            for (Index k = 0; k < classes; ++k)
                body(tile[s * classes + k], data[s * from.by_statistic]);
    } else {
        for (Index k = 0; k < classes; ++k)
            for (Index s = 0; s < size; ++s)
                body(tile[s * classes + k], data[k * from.by_class + s * from.by_statistic]);
    }
}

template <class Classes>
inline void read_tile(const SharesCall &call, Classes classes, Index first, Index size) {
    const auto each = [&](const Counts &from, const auto &body) {
        each_cell(from, classes, first, size, call.tile, body);
    };
    each(call.sums, [](double &cell, double value) { cell = value; });
    each(call.extra, [](double &cell, double value) { cell += value; });
}

// Replace counts by their logarithms; false where one is not a positive, finite number.
inline bool take_logs(double *tile, Index size) {
    Lanes least = all(std::numeric_limits<double>::max()), odd{};
    for (Index i = size; i % lanes; ++i) tile[i] = 1.0;
    for (Index i = 0; i < size; i += lanes) {
        const Lanes value = load(tile + i);
        least = value < least ? value : least;
        odd += value - value;  // zero for finite numbers alone
        store(tile + i, log_above(value));
    }
    bool fine = sum(odd) == 0.0;
    for (int i = 0; i < lanes; ++i)
        fine &= part(least, i) >= std::numeric_limits<double>::min();  // smaller ones are imprecise
    return fine;
}

// Call `body(cell of the result, cell of the tile, class)` for some statistics.
template <class Classes, class Body>
inline void each_result(const SharesCall &call, Classes classes, Index first, Index size,
                        const Body &body) {
    double *out = call.out + first * call.by_statistic;
    if (call.by_class == 1) {
        for (Index s = 0; s < size; ++s)
            for (Index k = 0; k < classes; ++k)
                body(out[s * call.by_statistic + k], s * classes + k, k);
    } else {
        for (Index k = 0; k < classes; ++k)
            for (Index s = 0; s < size; ++s)
                body(out[k * call.by_class + s * call.by_statistic], s * classes + k, k);
    }
}

template <class Classes>
bool log_shares(const SharesCall &call, Classes classes) {
    for (Index first = 0; first < call.statistics; first += shares_tile) {
        const Index rest = call.statistics - first, size = rest < shares_tile ? rest : shares_tile;
        read_tile(call, classes, first, size);
        for (Index s = 0; s < size; ++s)
            for (Index k = 0; k < classes; ++k) call.mass[k] += call.tile[s * classes + k];
        if (!take_logs(call.tile, size * classes)) return false;
        const double *tile = call.tile;
        each_result(call, classes, first, size,
                    [&](double &out, Index at, Index) { out = tile[at]; });
    }
    double *mass = call.mass;
    for (Index k = 0; k < classes; ++k) mass[k] = part(log_above(all(mass[k])), 0);
    each_result(call, classes, 0, call.statistics,
                [&](double &out, Index, Index k) { out -= mass[k]; });
    return true;
}

// Turn the scores of a group of rows into shares; those that are not there are left alone.
void softmax_group(const Group &rows, double *height, Index there) {
    Lanes top[beside], total[beside], factor[beside];
    take_rows(rows);
    exponentiate(rows, top, total);
    for (int b = 0; b < beside; ++b) {
        factor[b] = 1.0 / total[b];
        const Lanes found = top[b] + log_above(total[b]);
        for (int i = 0; i < lanes && b * lanes + i < there; ++i)
            height[b * lanes + i] = part(found, i);
    }
    give_rows(rows, factor);
}

// Add `body(class)` up over the classes, vector by vector.
template <class Vector, class Single>
inline double added(int classes, const Vector &vector, const Single &single) {
    Lanes total{};
    int k = 0;
    for (; k + lanes <= classes; k += lanes) total += vector(k);
    double rest = sum(total);
    for (; k < classes; ++k) rest += single(k);
    return rest;
}

// Multiply what the line of a row says with what else is said of it.
inline const double *what_is_said(const SlopesCall &call, Index row) {
    const double *line = call.table + call.codes[row] * Index{call.classes};
    if (!call.besides) return line;
    const double *more = call.besides + row * call.classes;
    for (int k = 0; k < call.classes; ++k) call.seen[k] = line[k] * more[k];
    return call.seen;
}

// Find the chance of what is said of each row, and the mean share of each class.
template <class Classes>
void weigh_labels(const SlopesCall &call, Classes classes) {
    const int K = classes;
    double total = 0.0;
    for (Index row = 0; row < call.rows; ++row) {
        const double *share = call.share + row * K, *seen = what_is_said(call, row);
        const double found = added(
            K, [&](int k) { return load(share + k) * load(seen + k); },
            [&](int k) { return share[k] * seen[k]; });
        call.chance[row] = found > least_chance ? found : least_chance;
        const double hold = call.holds[row];
        total += hold;
        for (int k = 0; k < K; ++k) call.mean[k] += hold * share[k];
    }
    for (int k = 0; k < K; ++k)
        call.mean[k] = std::max(call.mean[k] / std::max(total, least_share), least_share);
}

// Take the slopes, and add up what each line says of the classes.
template <class Classes>
void pull_shares(const SlopesCall &call, Classes classes) {
    const int K = classes;
    double total = 0.0;
    for (Index row = 0; row < call.rows; ++row) total += call.holds[row];
    double *pull = call.pull;
    for (int k = 0; k < K; ++k)
        pull[k] = call.anchor ? -call.anchor[k] / call.mean[k] / std::max(total, least_share) : 0.0;
    for (Index row = 0; row < call.rows; ++row) {
        double *share = call.share + row * K, *joint = call.joint + call.codes[row] * Index{K};
        const double *seen = what_is_said(call, row);
        const double usual = added(
            K, [&](int k) { return load(share + k) * load(pull + k); },
            [&](int k) { return share[k] * pull[k]; });
        const double weight = call.weight[row], hold = call.holds[row];
        const double scale = weight / call.chance[row];
        for (int k = 0; k < K; ++k) {
            const double after = scale * share[k] * seen[k];
            joint[k] += after;
            share[k] = share[k] * (weight + hold * (pull[k] - usual)) - after;
        }
    }
}

// Call `body` with the number of classes, which the compiler knows where they are few.
template <class Body>
inline auto with_classes(int classes, const Body &body) {
    switch (classes) {
        case 2: return body(Number_of<2>{});
        case 3: return body(Number_of<3>{});
        case 4: return body(Number_of<4>{});
        case 5: return body(Number_of<5>{});
        default: return body(classes);
    }
}

}  // namespace

void label_slopes(const SlopesCall &call) {
    with_classes(call.classes, [&](auto classes) { weigh_labels(call, classes); });
    with_classes(call.classes, [&](auto classes) { pull_shares(call, classes); });
}

void softmax(const SoftmaxCall &call) {
    const int K = call.classes;
    Group group{call.share, K, K, K, reinterpret_cast<Lanes *>(call.space)};
    double *rest = call.space + Index{K} * group_rows;  // the last rows, made up to a group
    for (Index row = 0; row < call.rows; row += group_rows) {
        const Index there = std::min<Index>(call.rows - row, group_rows);
        double *own = call.share + row * K;
        group.scores = there == group_rows ? own : rest;
        if (there < group_rows) std::copy(own, own + there * K, rest);
        softmax_group(group, call.height + row, there);
        if (there < group_rows) std::copy(rest, rest + there * K, own);
    }
}

bool log_shares(const SharesCall &call) {
    return with_classes(call.classes, [&](auto classes) { return log_shares(call, classes); });
}

}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
