// From scores to shares. A vector holds the same class of several rows.
#pragma once

#include <limits>

#include "kernels.hpp"
#include "lanes.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

constexpr int beside = 4;  // vectors of rows that are worked on at once: none waits for another
constexpr int group_rows = beside * lanes;
static_assert(tile_rows % group_rows == 0, "a tile is made of whole groups");

constexpr double log2_whole = 6.93147180559945309417e-01;
constexpr double log2_high = 6.93147180369123816490e-01;  // its last 32 bits zero
constexpr double log2_low = 1.90821492927058770002e-10;   // and the rest

// exp(x) for x <= 0, by x = k log 2 + r, |r| <= log(2) / 2, and the Taylor series of exp(r).
// Below `lowest` it is exactly zero: subnormal numbers are slow, and count for nothing.
inline Lanes exp_below(const Lanes &x) {
    constexpr double lowest = -650.0;
    // 1.5 * 2^52: adding it rounds to an integer. 1023 more, and that has the bits of 2^k.
    constexpr double shift = 6755399441055744.0 + 1023.0;
    const Lanes shifted = x * 1.44269504088896340736 + shift;
    const Lanes r = x - (shifted - shift) * log2_whole;
    Lanes p = r * (1.0 / 479001600) + 1.0 / 39916800;
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
    const Lanes scale = bits_as<Lanes>(bits_as<LaneBits>(shifted) << 52);
    return x < lowest ? Lanes{} : p * scale;
}

// log(x) for normal x > 0, by x = 2^k m, 0.7 < m < 1.4, and log m = 2 artanh((m - 1) / (m + 1));
// minus infinity for zero.
inline Lanes log_above(const Lanes &x) {
    constexpr std::uint64_t two_to_52 = 0x4330000000000000u;
    constexpr std::uint64_t middle = 0x3fe6a09e667f3bcdu;  // the bits of sqrt(1 / 2)
    const LaneBits above = bits_as<LaneBits>(x) - middle + (std::uint64_t{1023} << 52);
    const Lanes k = bits_as<Lanes>((above >> 52) | two_to_52) - (4503599627370496.0 + 1023.0);
    const Lanes m = bits_as<Lanes>((above & 0x000fffffffffffffu) + middle);
    const Lanes f = (m - 1.0) / (m + 1.0);
    const Lanes z = f * f;
    Lanes p = z * (1.0 / 21) + 1.0 / 19;
    p = p * z + 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    const Lanes value = k * log2_high + (2.0 * f + (2.0 * f * z * p + k * log2_low));
    return x == 0.0 ? all(-std::numeric_limits<double>::infinity()) : value;
}

// A group of rows; `value` has the vectors of each class, (classes, beside).
struct Group {
    double *scores;
    int classes, scored, stride;
    Lanes *value;
};

inline void take_rows(const Group &rows) {
    for (int b = 0; b < beside; ++b) {
        const double *own = rows.scores + b * lanes * rows.stride;
        Lanes *value = rows.value + b;
        int k = 0;
        for (; k + lanes <= rows.scored; k += lanes) {
            Lanes block[lanes];
            for (int i = 0; i < lanes; ++i) block[i] = load(own + i * rows.stride + k);
            turn(block);
            for (int i = 0; i < lanes; ++i) value[(k + i) * beside] = block[i];
        }
        for (; k < rows.scored; ++k) {
            Lanes one;
            for (int i = 0; i < lanes; ++i) set_part(one, i, own[i * rows.stride + k]);
            value[k * beside] = one;
        }
        for (; k < rows.classes; ++k) value[k * beside] = Lanes{};
    }
}

// Write the values times their row's factor where the scores were.
inline void give_rows(const Group &rows, const Lanes (&factor)[beside]) {
    for (int b = 0; b < beside; ++b) {
        double *own = rows.scores + b * lanes * rows.stride;
        const Lanes *value = rows.value + b;
        int k = 0;
        for (; k + lanes <= rows.classes; k += lanes) {
            Lanes block[lanes];
            for (int i = 0; i < lanes; ++i) block[i] = value[(k + i) * beside] * factor[b];
            turn(block);
            for (int i = 0; i < lanes; ++i) store(own + i * rows.stride + k, block[i]);
        }
        for (; k < rows.classes; ++k) {
            const Lanes one = value[k * beside] * factor[b];
            for (int i = 0; i < lanes; ++i) own[i * rows.stride + k] = part(one, i);
        }
    }
}

// Replace scores by exp(score - top), and add them up.
inline void exponentiate(const Group &rows, Lanes (&top)[beside], Lanes (&total)[beside]) {
    for (int b = 0; b < beside; ++b) {
        // Not minus infinity, from which nothing can be subtracted.
        top[b] = all(std::numeric_limits<double>::lowest());
        total[b] = Lanes{};
    }
    for (int k = 0; k < rows.classes; ++k)
        for (int b = 0; b < beside; ++b) {
            const Lanes score = rows.value[k * beside + b];
            top[b] = score > top[b] ? score : top[b];
        }
    for (int k = 0; k < rows.classes; ++k)
        for (int b = 0; b < beside; ++b) {
            Lanes &value = rows.value[k * beside + b];
            value = exp_below(value - top[b]);
            total[b] += value;
        }
}

// A row that no class explains is shared out to nobody.
inline Lanes factor_of(const Lanes &weight, const Lanes &total) {
    return total == 0.0 ? Lanes{} : weight / total;
}

// Whole groups of rows that weigh one each. The logarithms of their totals are taken of products:
// a total is a sum of numbers of which the largest is one, so the product does not overflow.
Lanes share_alike(Group rows, int number) {
    constexpr int most = 8;  // factors of a product
    Lanes loglik{}, product = all(1.0);
    for (int row = 0; row < number; row += group_rows, rows.scores += group_rows * rows.stride) {
        Lanes top[beside], total[beside], factor[beside];
        take_rows(rows);
        exponentiate(rows, top, total);
        for (int b = 0; b < beside; ++b) {
            loglik += top[b];
            product *= total[b];
            factor[b] = factor_of(all(1.0), total[b]);
        }
        give_rows(rows, factor);
        if ((row / group_rows + 1) % (most / beside)) continue;
        loglik += log_above(product);
        product = all(1.0);
    }
    return loglik + log_above(product);
}

// A group of rows, some of which may not be there: then they weigh nothing.
Lanes share_weighted(const Group &rows, const double *weight, Index there) {
    Lanes top[beside], total[beside], factor[beside], loglik{};
    take_rows(rows);
    exponentiate(rows, top, total);
    for (int b = 0; b < beside; ++b) {
        Lanes own{};
        for (int i = 0; i < lanes && b * lanes + i < there; ++i)
            set_part(own, i, weight ? weight[b * lanes + i] : 1.0);
        const Lanes height = own * (top[b] + log_above(total[b]));
        loglik += own == 0.0 ? Lanes{} : height;
        factor[b] = factor_of(own, total[b]);
    }
    give_rows(rows, factor);
    return loglik;
}

// share[i, k] = weight[i] exp(score[i, k]) / sum_k exp(score[i, k]); the sums' logarithms add up.
void share_rows(const Call &call, Index first, Index rows, Scratch &scratch) {
    Group group{scratch.scores, call.classes, call.scored, call.stride,
               reinterpret_cast<Lanes *>(scratch.tile)};
    const int alike = call.weight ? 0 : static_cast<int>(rows / group_rows * group_rows);
    Lanes loglik = share_alike(group, alike);
    for (Index row = alike; row < rows; row += group_rows) {
        group.scores = scratch.scores + row * call.stride;
        loglik += share_weighted(group, call.weight ? call.weight + first + row : nullptr,
                                 rows - row);
    }
    scratch.loglik += sum(loglik);
}

}  // namespace
}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
