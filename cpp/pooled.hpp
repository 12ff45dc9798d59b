// How well scores explain labels through a channel: the sums behind that and its derivatives.
#pragma once

#include <cstdint>

#include "kernels.hpp"

namespace misnomer {

// Rows in order of their code; every array of rows is class by class.
struct PooledCall {
    Index rows;
    int classes;
    const double *scores;       // (classes, rows)
    const double *contrast;     // (classes, rows), or null
    const std::int32_t *codes;  // rising
    const double *weight;       // (rows)
    const double *table;        // (codes, classes): P(given | true)
    const double *bias;         // (classes)
    double scale, mix;
    double *tile;               // scratch: pooled_tiles * tile_rows
    double *joint;              // (codes, classes)
    double *size;               // (classes)
    double *cross;              // (classes, classes)
    double *first, *mean;       // (2, classes)
    double *held;               // (2)
};

// How many stretches of tile_rows numbers a call needs as scratch.
inline int pooled_tiles(int classes) { return 4 * classes + 5; }

namespace baseline { double pooled(const PooledCall &); }
#ifdef MISNOMER_WITH_AVX2
namespace avx2 { double pooled(const PooledCall &); }
#endif
#ifdef MISNOMER_WITH_AVX512
namespace avx512 { double pooled(const PooledCall &); }
#endif

}  // namespace misnomer
