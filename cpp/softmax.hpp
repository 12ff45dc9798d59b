// From scores to shares. Plain loops over the rows of a tile, for the compiler to vectorize.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

inline std::uint64_t bits_of(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline double of_bits(std::uint64_t bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

constexpr double log2_high = 6.93147180369123816490e-01;  // log 2, its last 32 bits zero
constexpr double log2_low = 1.90821492927058770002e-10;   // and the rest

// exp(x) for x <= 0, by x = k log 2 + r, |r| <= log(2) / 2, and the Taylor series of exp(r).
// Below `lowest` it is exactly zero: subnormal numbers are slow, and count for nothing.
inline double exp_below(double x) {
    constexpr double lowest = -650.0;
    constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
    const double shifted = x * 1.44269504088896340736 + shift;
    const double k = shifted - shift;
    const double r = (x - k * log2_high) - k * log2_low;
    double p = 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const double scale = of_bits((bits_of(shifted) << 52) + (std::uint64_t{1023} << 52));
    return x < lowest ? 0.0 : p * scale;
}

// log(x) for normal x > 0, by x = 2^k m, 0.7 < m < 1.4, and log m = 2 artanh((m - 1) / (m + 1)).
inline double log_above(double x) {
    constexpr std::uint64_t two_to_52 = 0x4330000000000000u;
    constexpr std::uint64_t middle = 0x3fe6a09e667f3bcdu;  // the bits of sqrt(1 / 2)
    const std::uint64_t above = bits_of(x) - middle + (std::uint64_t{1023} << 52);
    const double k = of_bits((above >> 52) | two_to_52) - (4503599627370496.0 + 1023.0);
    const double m = of_bits((above & 0x000fffffffffffffu) + middle);
    const double f = (m - 1.0) / (m + 1.0);
    const double z = f * f;
    double p = 1.0 / 21;
    p = p * z + 1.0 / 19;
    p = p * z + 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    return k * log2_high + (2.0 * f + (2.0 * f * z * p + k * log2_low));
}

// The rows of a tile, class by class, so that a vector holds the same class of several rows.
struct Tile {
    double *scores;  // (classes, tile_rows)
    double *top, *total, *weight, *height;
};

// A full tile has a length that the compiler knows: hence the branch.
void load_tile(const Tile &tile, const double *scores, int rows, int classes, int stride) {
    for (int k = 0; k < classes; ++k) {
        double *__restrict own = tile.scores + k * tile_rows;
        if (rows == tile_rows)
            for (int row = 0; row < tile_rows; ++row) own[row] = scores[row * stride + k];
        else
            for (int row = 0; row < tile_rows; ++row)
                own[row] = row < rows ? scores[row * stride + k] : 0.0;
    }
}

void store_tile(const Tile &tile, double *scores, int rows, int classes, int stride) {
    for (int k = 0; k < classes; ++k) {
        const double *__restrict own = tile.scores + k * tile_rows;
        if (rows == tile_rows)
            for (int row = 0; row < tile_rows; ++row) scores[row * stride + k] = own[row];
        else
            for (int row = 0; row < rows; ++row) scores[row * stride + k] = own[row];
    }
}

// Replace scores by exp(score - top), and add them up.
void exponentiate(const Tile &tile, int classes) {
    double *top = tile.top, *total = tile.total;
    // Not minus infinity, from which nothing can be subtracted.
    for (int i = 0; i < tile_rows; ++i) top[i] = std::numeric_limits<double>::lowest();
    for (int k = 0; k < classes; ++k) {
        const double *score = tile.scores + k * tile_rows;
        for (int i = 0; i < tile_rows; ++i) top[i] = score[i] > top[i] ? score[i] : top[i];
    }
    for (int i = 0; i < tile_rows; ++i) total[i] = 0.0;
    for (int k = 0; k < classes; ++k) {
        double *score = tile.scores + k * tile_rows;
        for (int i = 0; i < tile_rows; ++i) {
            score[i] = exp_below(score[i] - top[i]);
            total[i] += score[i];
        }
    }
}

// Divide by the total, multiply by the row's weight; return the weighted sum of log totals.
// A row that no class explains is shared out to nobody, and its logarithm is minus infinity.
double normalize(const Tile &tile, int classes) {
    double *factor = tile.top, *total = tile.total, *weight = tile.weight, *height = tile.height;
    for (int i = 0; i < tile_rows; ++i) {
        const double value = tile.top[i] + log_above(total[i]);
        const double kept = total[i] == 0.0 ? -std::numeric_limits<double>::infinity() : value;
        height[i] = weight[i] == 0.0 ? 0.0 : weight[i] * kept;
        factor[i] = total[i] == 0.0 ? 0.0 : weight[i] / total[i];
    }
    for (int k = 0; k < classes; ++k) {
        double *score = tile.scores + k * tile_rows;
        for (int i = 0; i < tile_rows; ++i) score[i] *= factor[i];
    }
    for (int width = tile_rows / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) height[i] += height[i + width];
    return height[0];
}

// share[i, k] = weight[i] exp(score[i, k]) / sum_k exp(score[i, k]); the sums' logarithms add up.
void share_rows(const Call &call, Index first, Index rows, Scratch &scratch) {
    double *extra = scratch.tile + call.classes * tile_rows;
    const Tile tile{scratch.tile, extra, extra + tile_rows, extra + 2 * tile_rows,
                    extra + 3 * tile_rows};
    for (Index at = 0; at < rows; at += tile_rows) {
        const int size = rows - at < tile_rows ? static_cast<int>(rows - at) : tile_rows;
        double *scores = scratch.scores + at * call.stride;
        load_tile(tile, scores, size, call.classes, call.stride);
        for (int i = 0; i < tile_rows; ++i)
            tile.weight[i] = i >= size ? 0.0 : call.weight ? call.weight[first + at + i] : 1.0;
        exponentiate(tile, call.classes);
        scratch.loglik += normalize(tile, call.classes);
        store_tile(tile, scores, size, call.classes, call.stride);
    }
}

}  // namespace
}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
