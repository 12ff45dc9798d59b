// The sums of `pooled`, a tile of rows at a time; all rows of a tile have the same code.
#include <algorithm>

#include "lanes.hpp"
#include "pooled.hpp"
#include "softmax.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

double dot(const double *a, const double *b) {
    Lanes total = load(a) * load(b);
    for (int i = lanes; i < tile_rows; i += lanes) total += load(a + i) * load(b + i);
    return sum(total);
}

// Where the numbers of a tile are kept: of each class, then of all.
struct Rows {
    double *share, *moved, *contrast, *weighted;  // (classes, tile_rows)
    double *weight, *total, *height, *moved_mean, *contrast_mean;

    Rows(double *tile, int classes)
        : share(tile),
          moved(share + classes * tile_rows),
          contrast(moved + classes * tile_rows),
          weighted(contrast + classes * tile_rows),
          weight(weighted + classes * tile_rows),
          total(weight + tile_rows),
          height(total + tile_rows),
          moved_mean(height + tile_rows),
          contrast_mean(moved_mean + tile_rows) {}
};

// Replace `share`, which holds scores, by exp(score - top), and add up.
void exponentiate(const Rows &rows, int classes) {
    for (int i = 0; i < tile_rows; i += lanes) {
        Lanes top = load(rows.share + i), total{};
        for (int k = 1; k < classes; ++k) {
            const Lanes score = load(rows.share + k * tile_rows + i);
            top = score > top ? score : top;
        }
        for (int k = 0; k < classes; ++k) {
            double *share = rows.share + k * tile_rows + i;
            const Lanes value = exp_below(load(share) - top);
            store(share, value);
            total += value;
        }
        store(rows.total + i, total);
    }
}

// moved = scale (scores + mix contrast + bias), and its softmax.
void share_out(const PooledCall &call, const Rows &rows, Index at, int size) {
    for (int i = 0; i < tile_rows; ++i) rows.weight[i] = i < size ? call.weight[at + i] : 0.0;
    for (int k = 0; k < call.classes; ++k) {
        const double *scores = call.scores + k * call.rows + at;
        double *moved = rows.moved + k * tile_rows, *contrast = rows.contrast + k * tile_rows;
        for (int i = 0; i < tile_rows; ++i) contrast[i] = 0.0;
        if (call.contrast)
            for (int i = 0; i < size; ++i) contrast[i] = call.contrast[k * call.rows + at + i];
        for (int i = 0; i < size; ++i)
            moved[i] = call.scale * (scores[i] + call.mix * contrast[i] + call.bias[k]);
        for (int i = size; i < tile_rows; ++i) moved[i] = 0.0;
        std::copy(moved, moved + tile_rows, rows.share + k * tile_rows);
    }
    exponentiate(rows, call.classes);
    for (int i = 0; i < tile_rows; ++i) rows.total[i] = 1.0 / rows.total[i];
    for (int i = 0; i < tile_rows; ++i) rows.moved_mean[i] = rows.contrast_mean[i] = 0.0;
    for (int k = 0; k < call.classes; ++k) {
        double *share = rows.share + k * tile_rows, *weighted = rows.weighted + k * tile_rows;
        const double *moved = rows.moved + k * tile_rows, *contrast = rows.contrast + k * tile_rows;
        for (int i = 0; i < tile_rows; ++i) {
            share[i] *= rows.total[i];
            weighted[i] = share[i] * rows.weight[i];
            rows.moved_mean[i] += share[i] * moved[i];
            rows.contrast_mean[i] += share[i] * contrast[i];
        }
    }
}

// P(label | x) of each row, into `total`; then its part of the loss.
double explain(const PooledCall &call, const Rows &rows, const double *seen) {
    for (int i = 0; i < tile_rows; ++i) rows.total[i] = 0.0;
    for (int k = 0; k < call.classes; ++k) {
        const double *share = rows.share + k * tile_rows;
        for (int i = 0; i < tile_rows; ++i) rows.total[i] += seen[k] * share[i];
    }
    for (int i = 0; i < tile_rows; ++i) {
        const double chance = rows.total[i] > 1e-300 ? rows.total[i] : 1e-300;
        rows.height[i] = chance;
        rows.total[i] = rows.weight[i] / chance;
    }
    for (int i = 0; i < tile_rows; i += lanes)
        store(rows.height + i, log_above(load(rows.height + i)));
    return dot(rows.weight, rows.height);
}

void add_up(const PooledCall &call, const Rows &rows, const double *seen, double *joint) {
    const int K = call.classes;
    for (int k = 0; k < K; ++k) {
        const double *share = rows.share + k * tile_rows, *weighted = rows.weighted + k * tile_rows;
        const double *moved = rows.moved + k * tile_rows, *contrast = rows.contrast + k * tile_rows;
        joint[k] += seen[k] * dot(share, rows.total);
        call.size[k] += dot(rows.weight, share);
        call.first[k] += dot(weighted, moved);
        call.mean[k] += dot(weighted, rows.moved_mean);
        if (call.contrast) {
            call.first[K + k] += dot(weighted, contrast);
            call.mean[K + k] += dot(weighted, rows.contrast_mean);
        }
        for (int l = 0; l <= k; ++l)
            call.cross[k * K + l] += dot(weighted, rows.share + l * tile_rows);
    }
    for (int k = 0; k < K; ++k) {
        double *share = rows.share + k * tile_rows;
        for (int i = 0; i < tile_rows; ++i) share[i] *= seen[k] * rows.total[i];
        call.held[0] += dot(share, rows.moved + k * tile_rows);
        if (call.contrast) call.held[1] += dot(share, rows.contrast + k * tile_rows);
    }
}

}  // namespace

double pooled(const PooledCall &call) {
    const Rows rows(call.tile, call.classes);
    double loglik = 0.0;
    for (Index at = 0; at < call.rows;) {
        const std::int32_t code = call.codes[at];
        int size = 1;
        while (size < tile_rows && at + size < call.rows && call.codes[at + size] == code) ++size;
        const double *seen = call.table + code * call.classes;
        share_out(call, rows, at, size);
        loglik += explain(call, rows, seen);
        add_up(call, rows, seen, call.joint + code * call.classes);
        at += size;
    }
    for (int k = 0; k < call.classes; ++k)
        for (int l = 0; l < k; ++l)
            call.cross[l * call.classes + k] = call.cross[k * call.classes + l];
    return loglik;
}

}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
