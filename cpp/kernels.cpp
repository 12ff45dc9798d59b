#include "kernels.hpp"

#include <vector>

#include "lookups.hpp"
#include "reals.hpp"
#include "sketch.hpp"
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

bool sketched(const Call &call) { return call.n_words > 0 && call.words[0].sketch != nullptr; }

void score(const Call &call, Index first, Index rows, Scratch &scratch) {
    if (!call.lookups.n_sections || !call.lookups.sections[0].with_code)
        std::memset(scratch.scores, 0, sizeof(double) * rows * call.stride);
    score_lookups(call, rows, scratch);
    score_reals(call, first, rows, scratch);
    if (sketched(call))
        decide_words(call, first, rows, scratch);
    else
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
    if (sketched(call)) take_back_evidence(call, rows, scratch);
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

// Set the bit of each value of a column, many columns at a time.
template <class Bits>
void mark_bits(const std::uint8_t *codes, Index rows, Index columns, Bits *__restrict bits) {
    for (Index row = 0; row < rows; ++row, codes += columns)
        for (Index j = 0; j < columns; ++j) bits[j] |= Bits{1} << codes[j];
}

std::uint8_t all_bits(const std::uint8_t *codes, Index size) {
    std::uint8_t bits = 0;
    for (Index i = 0; i < size; ++i) bits |= codes[i];
    return bits;
}

// Small values are bits of one word per column, the shorter the word the more columns at a time;
// larger ones are marked one by one.
void mark_present8(const std::uint8_t *codes, Index rows, Index columns, std::uint8_t *seen) {
    constexpr Index piece = 1024;
    std::vector<std::uint32_t> few(columns);
    std::vector<std::uint64_t> more(columns);
    for (Index first = 0; first < rows; first += piece) {
        const Index some = rows - first < piece ? rows - first : piece;
        const std::uint8_t *from = codes + first * columns, high = all_bits(from, some * columns);
        if (high < 32)
            mark_bits(from, some, columns, few.data());
        else if (high < 64)
            mark_bits(from, some, columns, more.data());
        else
            mark_present(from, some, columns, seen);
    }
    for (Index j = 0; j < columns; ++j)
        for (int value = 0; value < 64; ++value)
            seen[j * 256 + value] |= (more[j] | few[j]) >> value & 1;
}

}  // namespace

bool log_shares(const SharesCall &);  // kernels_shares.cpp
void softmax(const SoftmaxCall &);
void label_slopes(const SlopesCall &);

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
                                   sketch_size,
                                   sketch_words,
                                   product_of_words,
                                   merge,
                                   mark_present8,
                                   mark_present<std::uint16_t>,
                                   log_shares,
                                   softmax,
                                   label_slopes};
    return table;
}

}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
