#include "kernels.hpp"

#include <algorithm>
#include <vector>

#include "lookups.hpp"
#include "reals.hpp"
#include "softmax.hpp"
#include "words.hpp"

#define MISNOMER_TEXT_OF(name) #name
#define MISNOMER_TEXT(name) MISNOMER_TEXT_OF(name)

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

void read(const Call &call, Index first, Index rows, Scratch &scratch) {
    read_lookups(call, first, rows, scratch);
    read_reals(call, first, rows, scratch);
    read_words(call, first, rows, scratch);
}

void score(const Call &call, Index first, Index rows, Scratch &scratch) {
    if (!call.lookups.n_sections || !call.lookups.sections[0].with_code)
        std::memset(scratch.scores, 0, sizeof(double) * rows * call.stride);
    score_lookups(call, rows, scratch);
    score_reals(call, first, rows, scratch);
    score_words(call, first, rows, scratch);
}

void give(const Call &call, Index first, Index rows, const Scratch &scratch) {
    double *scores = call.scores + first * call.classes;
    for (Index row = 0; row < rows; ++row)
        for (int k = 0; k < call.classes; ++k)
            scores[row * call.classes + k] = scratch.scores[row * call.stride + k];
}

void take(const Call &call, Index first, Index rows, Scratch &scratch) {
    const double *share = call.share + first * call.classes;
    for (Index row = 0; row < rows; ++row)
        for (int k = 0; k < call.stride; ++k)
            scratch.scores[row * call.stride + k] =
                k < call.classes ? share[row * call.classes + k] : 0.0;
}

void add(const Call &call, Index first, Index rows, Scratch &scratch, const Sums &sums) {
    add_lookups(call, rows, scratch, sums.own);
    add_reals(call, rows, scratch, sums.own);
    add_words(call, first, rows, scratch, sums.words);
}

void tally(const Call &call, Index first, Index rows, Scratch &scratch, const Sums &sums) {
    tally_lookups(call, first, rows, scratch, sums.own);
    tally_reals(call, first, rows, scratch, sums.own);
    tally_words(call, first, rows, scratch, sums.words);
}

void merge(double *total, double *part, Index size) {
    for (Index i = 0; i < size; ++i) {
        total[i] += part[i];
        part[i] = 0.0;
    }
}

template <class Code>
void mark_present(const Code *codes, Index rows, Index columns, std::uint8_t *seen) {
    constexpr Index values = Index{1} << (8 * sizeof(Code));
    for (Index row = 0; row < rows; ++row, codes += columns)
        for (Index j = 0; j < columns; ++j) seen[j * values + codes[j]] = 1;
}

// Small values are bits of one word per column, many columns at a time; larger ones are marked
// one by one.
void mark_present8(const std::uint8_t *codes, Index rows, Index columns, std::uint8_t *seen) {
    constexpr Index piece = 1024;
    std::vector<std::uint64_t> bits(columns);
    std::vector<std::uint8_t> any(columns);
    for (Index first = 0; first < rows; first += piece) {
        const Index some = rows - first < piece ? rows - first : piece;
        const std::uint8_t *from = codes + first * columns;
        std::fill(any.begin(), any.end(), std::uint8_t{0});
        for (Index row = 0; row < some; ++row)
            for (Index j = 0; j < columns; ++j) any[j] |= from[row * columns + j];
        std::uint8_t high = 0;
        for (const std::uint8_t one : any) high |= one;
        if (high >= 64) {
            mark_present(from, some, columns, seen);
            continue;
        }
        for (Index row = 0; row < some; ++row)
            for (Index j = 0; j < columns; ++j)
                bits[j] |= std::uint64_t{1} << from[row * columns + j];
    }
    for (Index j = 0; j < columns; ++j)
        for (int value = 0; value < 64; ++value) seen[j * 256 + value] |= bits[j] >> value & 1;
}

}  // namespace

const Kernels &kernels() {
    static constexpr Kernels table{MISNOMER_TEXT(MISNOMER_VARIANT),
                                   lanes,
                                   read,
                                   score,
                                   give,
                                   take,
                                   share_rows,
                                   add,
                                   tally,
                                   merge,
                                   mark_present8,
                                   mark_present<std::uint16_t>};
    return table;
}

}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
