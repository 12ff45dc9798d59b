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

// What labels say of shares, and how they pull the scores behind them.
struct SlopesCall {
    Index rows;
    int classes;
    double *share;         // (rows, classes): replaced by the slopes
    const double *table;   // (lines, classes): P(what is said | class)
    const std::int32_t *codes;  // (rows): the line of each row
    const double *besides; // (rows, classes): what else is said; null for nothing
    const double *weight;  // (rows)
    const double *holds;   // (rows): the weight of a row in the shares of the classes
    const double *anchor;  // (classes): virtual rows that hold these; null for none
    double *chance;        // (rows): P(what is said)
    double *mean;          // (classes): zeros; the mean share of each class
    double *pull;          // scratch: (classes)
    double *joint;         // (lines, classes): zeros; the weight of each line and class
    double *seen;          // scratch: (classes)
};

// A group of rows, and their values class by class.
inline Index softmax_space(Index classes) { return 2 * tile_rows * classes; }

constexpr Index shares_tile = 64;  // statistics that are worked on at once

}  // namespace misnomer
