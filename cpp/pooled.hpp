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
    double *space;              // zeros: as many as pooled_space says
    double *joint;              // (codes, classes)
    double *size;               // (classes)
    double *cross;              // (classes, classes); null: only what is above is wanted
    double *first, *mean;       // (2, classes)
    double *held;               // (2)
};

// How many numbers a call needs as scratch, with vectors of so many lanes.
inline Index pooled_space(Index classes, Index lanes) {
    const Index padded = (classes + lanes - 1) / lanes * lanes;
    return (2 * padded + 2 * classes + 1) * tile_rows + 6 * classes * lanes + padded * padded;
}

namespace baseline { double pooled(const PooledCall &); }
#ifdef MISNOMER_WITH_AVX2
namespace avx2 { double pooled(const PooledCall &); }
#endif
#ifdef MISNOMER_WITH_AVX512
namespace avx512 { double pooled(const PooledCall &); }
#endif

}  // namespace misnomer
