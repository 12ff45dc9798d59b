// Loops over classes with a number of vectors that the compiler knows.
#pragma once

#include <type_traits>

#include "kernels.hpp"
#include "lanes.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

template <int N>
using Number_of = std::integral_constant<int, N>;

constexpr int padded(int classes) { return (classes + lanes - 1) / lanes * lanes; }

// Call `body(vectors, shift)` for pieces of `stride` classes, each of at most `widest` vectors.
template <class Body>
inline void by_width(int stride, const Body &body) {
    for (int shift = 0; shift < stride; shift += widest * lanes) {
        switch ((stride - shift) / lanes) {
            case 1: body(Number_of<1>{}, shift); break;
            case 2: body(Number_of<2>{}, shift); break;
            case 3: body(Number_of<3>{}, shift); break;
            case 4: body(Number_of<4>{}, shift); break;
            case 5: body(Number_of<5>{}, shift); break;
            case 6: body(Number_of<6>{}, shift); break;
            case 7: body(Number_of<7>{}, shift); break;
            default: body(Number_of<widest>{}, shift); break;
        }
    }
}

// Call `body(number, first)` for pieces of `classes` classes, each of at most five: as many
// as leave registers for the values they are multiplied with.
template <class Body>
inline void by_class(int classes, const Body &body) {
    const int pieces = (classes + 4) / 5;
    for (int piece = 0, first = 0; piece < pieces; ++piece) {
        const int number = (classes - first) / (pieces - piece);
        switch (number) {
            case 1: body(Number_of<1>{}, first); break;
            case 2: body(Number_of<2>{}, first); break;
            case 3: body(Number_of<3>{}, first); break;
            case 4: body(Number_of<4>{}, first); break;
            default: body(Number_of<5>{}, first); break;
        }
        first += number;
    }
}

}  // namespace
}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
