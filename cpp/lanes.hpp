// A vector of doubles as wide as the instruction set that this file is compiled for.
#pragma once

#include <cstring>

#include "kernels.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

#if defined(MISNOMER_LANES)
constexpr int lanes = MISNOMER_LANES;
#elif defined(__AVX512F__)
constexpr int lanes = 8;
#elif defined(__AVX__)
constexpr int lanes = 4;
#else
constexpr int lanes = 2;
#endif

#if defined(__GNUC__) || defined(__clang__)

using Lanes = double __attribute__((vector_size(8 * lanes)));

#else

struct Lanes {
    double at[lanes];
    double operator[](int i) const { return at[i]; }
    Lanes &operator-=(const Lanes &other) {
        for (int i = 0; i < lanes; ++i) at[i] -= other.at[i];
        return *this;
    }
    Lanes &operator+=(const Lanes &other) {
        for (int i = 0; i < lanes; ++i) at[i] += other.at[i];
        return *this;
    }
};

inline Lanes operator+(Lanes a, const Lanes &b) { return a += b; }
inline Lanes operator-(Lanes a, const Lanes &b) { return a -= b; }

inline Lanes operator*(Lanes a, const Lanes &b) {
    for (int i = 0; i < lanes; ++i) a.at[i] *= b.at[i];
    return a;
}

inline Lanes operator*(double a, Lanes b) {
    for (int i = 0; i < lanes; ++i) b.at[i] *= a;
    return b;
}

#endif

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

inline void store(double *to, const Lanes &value) { std::memcpy(to, &value, sizeof value); }

template <int First = 0, int Size = lanes>
inline double sum(const Lanes &value) {
    if constexpr (Size == 1)
        return value[First];
    else
        return sum<First, Size / 2>(value) + sum<First + Size / 2, Size / 2>(value);
}

// Keep an address in a register, not as a sum that every use of it computes again.
template <class Pointer>
inline void hold(Pointer &address) {
#if defined(__GNUC__) || defined(__clang__)
    asm("" : "+r"(address));
#else
    (void)address;
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
