// From counts to the logarithms of their shares, and from such logarithms to shares.
#pragma once

#include "kernels.hpp"

namespace misnomer {

// A view of numbers by class and statistic.
struct Counts {
    const double *data;
    Index by_class, by_statistic;
};

// out = log c - log sum_statistics c, with c = sums + extra.
struct SharesCall {
    Index classes, statistics;
    Counts sums, extra;
    double *out;
    Index by_class, by_statistic;  // of out
    double *mass;                  // (classes): zeros
    double *tile;                  // scratch: shares_tile * classes, rounded up to whole vectors
};

// share = exp(share - height) with height = log sum_classes exp(share).
struct SoftmaxCall {
    Index rows;
    int classes;
    double *share;   // (rows, classes): scores at first
    double *height;  // (rows)
    double *space;   // scratch: softmax_space(classes)
};

// A group of rows, and their values class by class.
inline Index softmax_space(Index classes) { return 2 * tile_rows * classes; }

constexpr Index shares_tile = 64;  // statistics that are worked on at once

}  // namespace misnomer
