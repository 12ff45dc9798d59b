// A coarse copy of the weights of words, from which one class is often seen to leave all others
// behind.
//
// A word's weights are stored as their distance below the largest of them, in 16 bits each: the
// upper half of a float. All distances of a row have one sign, so their sum is as precise,
// relatively, as each of them. Where the distances leave one class more than 2^60 times as likely
// as any other, the row is its alone and nothing else has to be known. What the weights add to the
// log-likelihood is then the product of weights and sums, taken once at the end.
#pragma once

#include <limits>

#include "kernels.hpp"
#include "lanes.hpp"
#include "words.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

constexpr int most_pairs = singles < 4 ? 8 : 32 / singles;  // vectors of a word
constexpr int most_compared = 2 * singles * most_pairs;     // classes
constexpr double decisive = 42.0;                           // more than log(2^60)

constexpr int pairs_of(int classes) { return (classes + 2 * singles - 1) / (2 * singles); }

Index sketch_size(int classes) {
    return pairs_of(classes) <= most_pairs ? Index{pairs_of(classes)} * singles : 0;
}

// The upper half of the float that is nearest among those whose lower half is zero.
inline std::uint32_t upper_half(float value) {
    const auto bits = bits_as<std::uint32_t>(value);
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

// Sketch the weights of a word: one number holds the upper halves of two classes, which are
// `singles` apart. False where a weight is not finite.
inline bool sketch_word(const double *weights, int classes, int pairs, std::uint32_t *to) {
    double top = weights[0], none = 0.0;  // x - x is zero for finite x alone
    for (int k = 0; k < classes; ++k) {
        top = weights[k] > top ? weights[k] : top;
        none += weights[k] - weights[k];
    }
    float distance[most_compared];
    for (int k = 0; k < classes; ++k) distance[k] = static_cast<float>(weights[k] - top);
    for (int k = classes; k < 2 * singles * pairs; ++k) distance[k] = 0.0f;
    for (int p = 0; p < pairs; ++p)
        for (int i = 0; i < singles; ++i) {
            const float *own = distance + 2 * p * singles + i;
            to[p * singles + i] = upper_half(own[0]) | upper_half(own[singles]) << 16;
        }
    return none == 0.0;
}

// Add up how far each class is behind by the words of a piece.
template <int Pairs, class Word>
inline void compare_words(const std::uint32_t *sketch, const Piece<Word> &piece, float *behind) {
    constexpr int chains = Pairs <= 2 ? 2 : 1;
    Singles value[chains][2 * Pairs] = {};
    const Word *later = piece.later();
    Index i = 0;
    const auto add = [&](Singles(&to)[2 * Pairs]) {
        const std::uint32_t *soon = sketch + later[i] * std::size_t{Pairs * singles};
        hold(soon);
        prefetch(soon, 4 * Pairs * singles);
        const std::uint32_t *row = sketch + piece.word[i] * std::size_t{Pairs * singles};
        const float count = static_cast<float>(piece.count[i]);
        MISNOMER_UNROLL
        for (int p = 0; p < Pairs; ++p) {
            const SingleBits both = load(row + p * singles);
            to[2 * p] += count * bits_as<Singles>(both << 16);
            to[2 * p + 1] += count * bits_as<Singles>(both & 0xffff0000u);
        }
        ++i;
    };
    while (i + chains <= piece.size)
        for (int c = 0; c < chains; ++c) add(value[c]);
    while (i < piece.size) add(value[0]);
    for (int v = 0; v < 2 * Pairs; ++v)
        add_to(behind + v * singles, chains == 2 ? value[0][v] + value[chains - 1][v] : value[0][v]);
}

// The same for a number of vectors that the compiler does not know: one up to `Most`.
template <int Most, class Word>
inline void compare_words(const std::uint32_t *sketch, int pairs, const Piece<Word> &piece,
                          float *behind) {
    if constexpr (Most > 1)
        if (pairs < Most) return compare_words<Most - 1>(sketch, pairs, piece, behind);
    compare_words<Most>(sketch, piece, behind);
}

template <class Word>
inline bool any_negative(const Piece<Word> &piece) {
    std::uint64_t bits = 0;
    for (Index i = 0; i < piece.size; ++i) bits |= bits_as<std::uint64_t>(piece.count[i]);
    return bits >> 63;
}

// Whether one class leaves the others behind, where distances may be off by a part `doubt` of
// themselves. If so, move the scores by the distances, less that of this class. Distances beyond
// the last class are minus infinity.
inline bool decide(double *scores, const float *behind, int stride, double doubt) {
    Lanes least = all(-std::numeric_limits<double>::infinity());
    for (int k = 0; k < stride; k += lanes) {
        const Lanes low = load(scores + k) + load(behind + k) * (1.0 + doubt);
        least = low > least ? low : least;
    }
    double bar = part(least, 0);
    for (int i = 1; i < lanes; ++i) bar = part(least, i) > bar ? part(least, i) : bar;
    bar -= decisive;
    Lanes left{}, distance{};
    for (int k = 0; k < stride; k += lanes) {
        const Lanes own = load(behind + k), high = load(scores + k) + own * (1.0 - doubt);
        left += high < bar ? Lanes{} : all(1.0);  // a NaN is left, too
        distance += high < bar ? Lanes{} : own;
    }
    if (sum(left) != 1.0 || bar - bar != 0.0) return false;
    const Lanes shift = all(sum(distance));
    for (int k = 0; k < stride; k += lanes)
        store(scores + k, load(scores + k) + (load(behind + k) - shift));
    return true;
}

template <class Word>
inline bool decide_row(const Call &call, const Words &block, Index row, Scratch &scratch,
                       double *scores) {
    float behind[most_compared];
    const int pairs = pairs_of(call.classes);
    for (int k = 0; k < 2 * singles * pairs; ++k) behind[k] = 0.0f;
    bool negative = false;
    each_piece<Word>(block, row, scratch, [&](const Piece<Word> &piece) {
        compare_words<most_pairs>(block.sketch, pairs, piece, behind);
        negative |= any_negative(piece);
    });
    for (int k = call.classes; k < call.stride; ++k) {
        behind[k] = -std::numeric_limits<float>::infinity();
        scores[k] = 0.0;
    }
    const Index size = start_of<Word>(block, row + 1) - start_of<Word>(block, row);
    // 2^-9 of a distance was rounded off, and 2^-24 of the sum with each word; twice that is safe.
    const double doubt = 1.0 / 256 + static_cast<double>(size) / (1 << 23);
    const bool decided =
        !negative && doubt < 0.25 && decide(scores, behind, call.stride, doubt);
    for (int k = call.classes; k < call.stride; ++k) scores[k] = 0.0;
    return decided;
}

template <class Word>
void decide_words(const Call &call, const Words &block, Index first, Index rows,
                  Scratch &scratch) {
    for (Index row = 0; row < rows; ++row) {
        double *scores = scratch.scores + row * call.stride;
        scratch.decided[row] = decide_row<Word>(call, block, first + row, scratch, scores);
        if (scratch.decided[row]) continue;
        double *evidence = scratch.evidence + row * call.stride;
        for (int k = 0; k < call.stride; ++k) evidence[k] = 0.0;
        score_row<Word>(call, block, first + row, scratch, evidence);
        for (int k = 0; k < call.stride; ++k) scores[k] += evidence[k];
    }
}

// Score words by their sketch where it decides, else by their weights.
void decide_words(const Call &call, Index first, Index rows, Scratch &scratch) {
    if (scratch.stray_word) return;
    (call.words[0].wide ? decide_words<std::uint64_t> : decide_words<std::uint32_t>)(
        call, call.words[0], first, rows, scratch);
}

// The product of weights and sums has the evidence of all rows; that of undecided ones is already
// part of their likelihood.
void take_back_evidence(const Call &call, Index rows, Scratch &scratch) {
    for (Index row = 0; row < rows; ++row) {
        if (scratch.decided[row]) continue;
        const double *share = scratch.scores + row * call.stride;
        const double *evidence = scratch.evidence + row * call.stride;
        double total = 0.0;
        for (int k = 0; k < call.classes; ++k) total += share[k] * evidence[k];
        scratch.loglik -= total;
    }
}

// The sum over words and classes of weights * sums.
double product_of_words(const Call &call, const double *words) {
    const double *weights = call.words[0].weights, *sums = words + call.words[0].sums;
    Lanes total[2] = {};
    double rest = 0.0;
    for (Index word = 0; word < call.words[0].columns; ++word) {
        int k = 0;
        for (; k + lanes <= call.classes; k += lanes)
            total[k / lanes % 2] += load(weights + k) * load(sums + k);
        for (; k < call.classes; ++k) rest += weights[k] * sums[k];
        weights += call.stride, sums += call.stride;
    }
    return sum(total[0]) + sum(total[1]) + rest;
}

// Of some rows from all over the table, whether most would be decided by words alone.
template <class Word>
bool mostly_decided(const Call &call, const Words &block, Index rows) {
    constexpr Index asked = 64;
    double space[word_piece], scores[most_compared];
    Scratch scratch{};
    scratch.count = space;
    Index decided = 0;
    for (Index i = 0; i < asked; ++i) {
        const Index row = i * rows / asked;
        if (!within<Word>(block, row, 1)) return false;
        for (int k = 0; k < call.stride; ++k) scores[k] = 0.0;
        score_row<Word>(call, block, row, scratch, scores);
        double first = scores[0], second = -std::numeric_limits<double>::infinity();
        for (int k = 1; k < call.classes; ++k) {
            second = scores[k] > first ? first : scores[k] > second ? scores[k] : second;
            first = scores[k] > first ? scores[k] : first;
        }
        decided += first - second > decisive;
    }
    return 4 * decided >= 3 * asked;
}

bool sketch_words(const Call &call, Index rows, std::uint32_t *to) {
    const Words &block = call.words[0];
    if (!(block.wide ? mostly_decided<std::uint64_t> : mostly_decided<std::uint32_t>)(
            call, block, rows))
        return false;
    const int pairs = pairs_of(call.classes);
    bool finite = true;
    for (Index word = 0; word < block.columns; ++word)
        finite &= sketch_word(block.weights + word * call.stride, call.classes, pairs,
                              to + word * pairs * singles);
    return finite;
}

}  // namespace
}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
