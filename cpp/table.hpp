// Rows as tuples of blocks, as Python hands them over: pointers to arrays that Python keeps.
#pragma once

#include <vector>

#include "kernels.hpp"

namespace misnomer {

// `statistic` is where the statistics of a block begin among those of all blocks.
struct CodesBlock {
    const void *codes;
    int bytes;                // of one code
    std::vector<Slot> sizes;  // categories of each column
    Index statistic;
};

struct FlagsBlock {
    const std::uint8_t *bits, *observed;
    Index columns;
    Index statistic;
};

struct RealsBlock {
    const void *values;
    bool single;
    const double *center;
    Index columns;
    Index statistic;
};

struct WordsBlock {
    const void *data;
    Number number;
    const void *indices, *starts;
    bool wide;
    Index columns;
    Index cells;
    Index statistic;
};

struct Table {
    Index rows = 0;
    Index width = 0;  // statistics of all blocks
    std::vector<CodesBlock> codes;
    std::vector<FlagsBlock> flags;
    std::vector<RealsBlock> reals;
    std::vector<WordsBlock> words;
};

// Numbers by class and statistic, in either order.
struct Matrix {
    double *data;
    Index by_class, by_statistic;
    double &operator()(Index k, Index s) const { return data[k * by_class + s * by_statistic]; }
};

}  // namespace misnomer
