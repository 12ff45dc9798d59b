// Sparse counts of words: a row's evidence is a weighted sum of the rows of its words.
#pragma once

#include <cmath>

#include "kernels.hpp"
#include "lanes.hpp"
#include "widths.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

constexpr int ahead = 40;  // how many words in advance a word's table row is fetched

template <class Value>
void widen(const void *data, Index from, Index size, double *count) {
    const Value *values = static_cast<const Value *>(data) + from;
    for (Index i = 0; i < size; ++i) count[i] = static_cast<double>(values[i]);
}

// The counts from the given one on, as they are or as a copy in `space`.
const double *counts_from(const Words &block, Index from, Index size, double *space) {
    switch (block.number) {
        case Number::f64: return static_cast<const double *>(block.data) + from;
        case Number::f32: widen<float>(block.data, from, size, space); break;
        case Number::i64: widen<std::int64_t>(block.data, from, size, space); break;
        case Number::u64: widen<std::uint64_t>(block.data, from, size, space); break;
        case Number::i32: widen<std::int32_t>(block.data, from, size, space); break;
        case Number::u32: widen<std::uint32_t>(block.data, from, size, space); break;
        case Number::i16: widen<std::int16_t>(block.data, from, size, space); break;
        case Number::u16: widen<std::uint16_t>(block.data, from, size, space); break;
        case Number::i8: widen<std::int8_t>(block.data, from, size, space); break;
        case Number::u8: widen<std::uint8_t>(block.data, from, size, space); break;
    }
    return space;
}

template <class Word>
inline Index start_of(const Words &block, Index row) {
    return static_cast<Index>(static_cast<const Word *>(block.starts)[row]);
}

// Whether every word of these rows has a row in the table.
template <class Word>
bool within(const Words &block, Index first, Index rows) {
    const Word *word = static_cast<const Word *>(block.indices);
    Word highest = 0;
    const Index end = start_of<Word>(block, first + rows);
    for (Index i = start_of<Word>(block, first); i < end; ++i)
        highest = word[i] > highest ? word[i] : highest;
    return highest < static_cast<Word>(block.columns) || end == start_of<Word>(block, first);
}

// Some words of a row, and how many more are stored behind them.
template <class Word>
struct Piece {
    const Word *word;
    const double *count;
    Index size, behind;

    // The words that come `ahead` words later; near the end of all words, the same words.
    const Word *later() const { return behind >= ahead ? word + ahead : word; }
};

template <class Word, class Body>
inline void each_piece(const Words &block, Index row, Scratch &scratch, const Body &body) {
    const Index end = start_of<Word>(block, row + 1);
    for (Index from = start_of<Word>(block, row); from < end; from += word_piece) {
        const Index size = end - from < word_piece ? end - from : word_piece;
        body(Piece<Word>{static_cast<const Word *>(block.indices) + from,
                         counts_from(block, from, size, scratch.count), size,
                         block.cells - from - size});
    }
}

template <int Width, class Word>
inline void weigh_words(const double *weights, std::size_t stride, const Piece<Word> &piece,
                        double *scores) {
    constexpr int chains = Width <= 5 ? 2 : 1;  // sums that are added up independently
    Lanes value[chains][Width] = {};
    for (int v = 0; v < Width; ++v) value[0][v] = load(scores + v * lanes);
    const Word *later = piece.later();
    Index i = 0;
    const auto add = [&](Lanes(&to)[Width]) {
        const double *soon = weights + later[i] * stride;
        hold(soon);
        prefetch(soon, 8 * Width * lanes);
        const double *row = weights + piece.word[i] * stride;
        hold(row);
        for (int v = 0; v < Width; ++v) to[v] += piece.count[i] * load(row + v * lanes);
        ++i;
    };
    while (i + chains <= piece.size)
        for (int c = 0; c < chains; ++c) add(value[c]);
    while (i < piece.size) add(value[0]);
    for (int v = 0; v < Width; ++v)
        store(scores + v * lanes, chains == 2 ? value[0][v] + value[chains - 1][v] : value[0][v]);
}

template <int Width, class Word>
inline void share_words(double *sums, std::size_t stride, const Piece<Word> &piece,
                        const double *share) {
    Lanes value[Width];
    for (int v = 0; v < Width; ++v) value[v] = load(share + v * lanes);
    const Word *later = piece.later();
    for (Index i = 0; i < piece.size; ++i) {
        const double *soon = sums + later[i] * stride;
        hold(soon);
        prefetch(soon, 8 * Width * lanes);
        double *row = sums + piece.word[i] * stride;
        hold(row);
        for (int v = 0; v < Width; ++v)
            store(row + v * lanes, load(row + v * lanes) + piece.count[i] * value[v]);
    }
}

// The same for some classes only: share[i] is that of the class at sums[shift[i]].
template <int Classes, class Word>
inline void give_words(double *sums, std::size_t stride, const Piece<Word> &piece,
                       const int *shift, const double *share) {
    const Word *later = piece.later();
    double *own[Classes], part[Classes];
    for (int k = 0; k < Classes; ++k) own[k] = sums + shift[k], part[k] = share[k];
    for (Index i = 0; i < piece.size; ++i) {
        for (int k = 0; k < Classes; ++k) prefetch(own[k] + later[i] * stride, 8);
        for (int k = 0; k < Classes; ++k) own[k][piece.word[i] * stride] += piece.count[i] * part[k];
    }
}

template <class Word>
void give_words(double *sums, std::size_t stride, const Piece<Word> &piece, const int *shift,
                const double *share, int classes) {
    for (; classes > 2; classes -= 2, shift += 2, share += 2)
        give_words<2>(sums, stride, piece, shift, share);
    if (classes == 2) give_words<2>(sums, stride, piece, shift, share);
    if (classes == 1) give_words<1>(sums, stride, piece, shift, share);
}

// Add what the words of a row weigh to its scores.
template <class Word>
inline void score_row(const Call &call, const Words &block, Index row, Scratch &scratch,
                      double *scores) {
    each_piece<Word>(block, row, scratch, [&](const Piece<Word> &piece) {
        by_width(padded(call.scored), [&](auto width, int shift) {
            weigh_words<width>(block.weights + shift, call.stride, piece, scores + shift);
        });
    });
}

template <class Word>
void score_words(const Call &call, const Words &block, Index first, Index rows,
                 Scratch &scratch) {
    for (Index row = 0; row < rows; ++row)
        score_row<Word>(call, block, first + row, scratch, scratch.scores + row * call.stride);
}

// Collect the classes that take part. Those with less than 2^-60 of the largest share add less
// to the sum over classes than its last bit.
inline int taking_part(const double *share, int classes, int *shift, double *part) {
    double most = 0.0;
    for (int k = 0; k < classes; ++k) most = std::fabs(share[k]) > most ? std::fabs(share[k]) : most;
    const double least = most / (std::uint64_t{1} << 60);
    int number = 0;
    for (int k = 0; k < classes; ++k) {
        shift[number] = k;
        part[number] = share[k];
        number += !(std::fabs(share[k]) <= least);  // a NaN takes part
    }
    return number;
}

template <class Word>
void add_words(const Call &call, const Words &block, Index first, Index rows, Scratch &scratch,
               double *sums) {
    for (Index row = 0; row < rows; ++row) {
        const double *share = scratch.scores + row * call.stride;
        const int number = taking_part(share, call.classes, scratch.shift, scratch.part);
        each_piece<Word>(block, first + row, scratch, [&](const Piece<Word> &piece) {
            if (number * lanes <= call.stride)
                return give_words(sums, call.stride, piece, scratch.shift, scratch.part, number);
            by_width(call.stride, [&](auto width, int shift) {
                share_words<width>(sums + shift, call.stride, piece, share + shift);
            });
        });
    }
}

template <class Word>
void tally_words(const Call &call, const Words &block, Index first, Index rows, Scratch &scratch,
                 double *sums) {
    for (Index row = first; row < first + rows; ++row) {
        if (call.codes[row] < 0) continue;
        const double weight = call.weight ? call.weight[row] : 1.0;
        // The sums of a code lie apart from those of the others, or beside them.
        double *own = sums + call.codes[row] * (call.stride == 1 ? block.columns : 1);
        each_piece<Word>(block, row, scratch, [&](const Piece<Word> &piece) {
            const int shift = 0;
            give_words<1>(own, call.stride, piece, &shift, &weight);
        });
    }
}

void read_words(const Call &call, Index first, Index rows, Scratch &scratch) {
    for (int b = 0; b < call.n_words; ++b)
        scratch.stray_word |=
            !(call.words[b].wide ? within<std::uint64_t> : within<std::uint32_t>)(
                call.words[b], first, rows);
}

void score_words(const Call &call, Index first, Index rows, Scratch &scratch) {
    if (scratch.stray_word) return;
    for (int b = 0; b < call.n_words; ++b)
        (call.words[b].wide ? score_words<std::uint64_t> : score_words<std::uint32_t>)(
            call, call.words[b], first, rows, scratch);
}

void add_words(const Call &call, Index first, Index rows, Scratch &scratch, double *sums) {
    if (scratch.stray_word) return;
    for (int b = 0; b < call.n_words; ++b)
        (call.words[b].wide ? add_words<std::uint64_t> : add_words<std::uint32_t>)(
            call, call.words[b], first, rows, scratch, sums + call.words[b].sums);
}

void tally_words(const Call &call, Index first, Index rows, Scratch &scratch, double *sums) {
    if (scratch.stray_word) return;
    for (int b = 0; b < call.n_words; ++b)
        (call.words[b].wide ? tally_words<std::uint64_t> : tally_words<std::uint32_t>)(
            call, call.words[b], first, rows, scratch, sums + call.words[b].sums);
}

}  // namespace
}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
