// A vector of doubles, and one of floats, as wide as the instruction set that this file is
// compiled for.
#pragma once

#include <cstring>
#include <utility>

#include "kernels.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

#if defined(__GNUC__) || defined(__clang__)

#if defined(__AVX512F__)
constexpr int lanes = 8;
#elif defined(__AVX__)
constexpr int lanes = 4;
#else
constexpr int lanes = 2;
#endif

using Lanes = double __attribute__((vector_size(8 * lanes)));
using LaneBits = std::uint64_t __attribute__((vector_size(8 * lanes)));

constexpr int singles = 2 * lanes;
using Singles = float __attribute__((vector_size(4 * singles)));
using SingleBits = std::uint32_t __attribute__((vector_size(4 * singles)));

inline double part(Lanes value, int i) { return value[i]; }
inline void set_part(Lanes &value, int i, double to) { value[i] = to; }

#else

// A compiler without vector types gets plain numbers.
constexpr int lanes = 1;

using Lanes = double;
using LaneBits = std::uint64_t;

constexpr int singles = 1;
using Singles = float;
using SingleBits = std::uint32_t;

inline double part(Lanes value, int) { return value; }
inline void set_part(Lanes &value, int, double to) { value = to; }

#endif

inline Lanes all(double value) { return value - Lanes{}; }

template <class To, class From>
inline To bits_as(const From &from) {
    static_assert(sizeof(To) == sizeof(From), "the bits of one are those of the other");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

inline Lanes load(const double *from) {
    Lanes value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

inline Lanes load(const float *from) {
    double value[lanes];
    for (int i = 0; i < lanes; ++i) value[i] = static_cast<double>(from[i]);
    return load(value);
}

inline SingleBits load(const std::uint32_t *from) {
    SingleBits value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

inline void add_to(float *to, Singles value) {
    Singles sum;
    std::memcpy(&sum, to, sizeof sum);
    sum += value;
    std::memcpy(to, &sum, sizeof sum);
}

inline void store(double *to, const Lanes &value) { std::memcpy(to, &value, sizeof value); }

template <int First = 0, int Size = lanes>
inline double sum(const Lanes &value) {
    if constexpr (Size == 1)
        return part(value, First);
    else
        return sum<First, Size / 2>(value) + sum<First + Size / 2, Size / 2>(value);
}

template <bool Second, std::size_t At>
inline double pick(Lanes first, Lanes second) {
    return part(Second ? second : first, At);
}

template <std::size_t Half, std::size_t... At>
inline void swap_parts(Lanes &a, Lanes &b, std::index_sequence<At...>) {
    const Lanes low{pick<(At & Half) != 0, (At & Half ? At - Half : At)>(a, b)...};
    const Lanes high{pick<(At & Half) != 0, (At & Half ? At : At + Half)>(a, b)...};
    a = low, b = high;
}

// Turn rows into columns.
template <int Half = 1>
inline void turn(Lanes (&rows)[lanes]) {
    if constexpr (Half < lanes) {
        for (int i = 0; i < lanes; ++i)
            if (!(i & Half))
                swap_parts<Half>(rows[i], rows[i + Half], std::make_index_sequence<lanes>{});
        turn<2 * Half>(rows);
    }
}

// Add up each row; the sums come side by side.
inline Lanes sums(Lanes (&rows)[lanes]) {
    turn(rows);
    for (int width = lanes / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) rows[i] += rows[i + width];
    return rows[0];
}

// The sums of a few vectors stay in registers only where the loop over them is unrolled early.
#if defined(__GNUC__) || defined(__clang__)
#define MISNOMER_UNROLL _Pragma("GCC unroll 8")
#else
#define MISNOMER_UNROLL
#endif

// Keep an address, or numbers, in a register: else every use might compute or load them again.
template <class Pointer>
inline void hold(Pointer *&address) {
#if defined(__GNUC__) || defined(__clang__)
    asm("" : "+r"(address));
#else
    (void)address;
#endif
}

inline void hold(Lanes &value) {
#if defined(__SSE2__)
    asm("" : "+x"(value));
#elif defined(__ARM_NEON) && defined(__aarch64__)
    asm("" : "+w"(value));
#else
    (void)value;
#endif
}

// Ask for memory that is needed soon.
inline void prefetch(const void *from, Index bytes) {
#if defined(__GNUC__) || defined(__clang__)
    for (Index at = 0; at < bytes; at += 64)
        __builtin_prefetch(static_cast<const char *>(from) + at);
#else
    (void)from, (void)bytes;
#endif
}

}  // namespace
}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
