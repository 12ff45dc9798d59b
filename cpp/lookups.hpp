// Columns of codes and flags: a row's evidence is a sum of table rows.
#pragma once

#include "kernels.hpp"
#include "lanes.hpp"
#include "widths.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
constexpr bool little_endian = true;
#else
constexpr bool little_endian = false;
#endif

// Find the table rows of `size` groups, which may go on over several rows. The pointers do not
// overlap: knowing it, the compiler vectorizes.
template <int Fold, class Number, class Code>
inline void fold_codes(const Code *__restrict codes, const Number *__restrict limit,
                       const Number *__restrict factor, const Slot *__restrict base, int next,
                       int size, Slot *__restrict slots) {
    for (int g = 0; g < size; ++g) {
        Number slot = 0;
        for (int f = 0; f < Fold; ++f) {
            const Number code = codes[g * Fold + f], most = limit[f * next + g];
            slot = static_cast<Number>(slot + (code < most ? code : most) * factor[f * next + g]);
        }
        slots[g] = base[g] + slot;
    }
}

// The same for pairs of bytes: they are read as one number.
template <int Fold>
inline void fold_codes(const std::uint8_t *__restrict codes, const std::uint16_t *__restrict limit,
                       const std::uint16_t *__restrict factor, const Slot *__restrict base,
                       int next, int size, Slot *__restrict slots) {
    if constexpr (Fold != 2 || !little_endian)
        return fold_codes<Fold, std::uint16_t>(codes, limit, factor, base, next, size, slots);
    for (int g = 0; g < size; ++g) {
        std::uint16_t both;
        std::memcpy(&both, codes + 2 * g, sizeof both);
        std::uint16_t low = both & 255, high = both >> 8;
        low = low < limit[g] ? low : limit[g];
        high = high < limit[next + g] ? high : limit[next + g];
        slots[g] = base[g] + static_cast<std::uint16_t>(low * factor[g] + high * factor[next + g]);
    }
}

template <int Fold, class Code>
void find_codes(const Run &run, Index first, Index rows, Slot *slots) {
    const Code *codes = static_cast<const Code *>(run.source) + first * run.stride;
    const int next = run.repeat * run.groups;
    for (Index row = 0; row < rows; row += run.repeat) {
        const Index number = rows - row < run.repeat ? rows - row : run.repeat;
        const int size = static_cast<int>(number) * run.groups;
        if (run.short_limit)
            fold_codes<Fold>(codes + row * run.stride, run.short_limit, run.short_factor, run.base,
                             next, size, slots + row * run.groups);
        else
            fold_codes<Fold>(codes + row * run.stride, run.limit, run.factor, run.base, next, size,
                             slots + row * run.groups);
    }
}

template <class Code>
void find_codes(const Run &run, Index first, Index rows, Slot *slots) {
    switch (run.fold) {
        case 1: return find_codes<1, Code>(run, first, rows, slots);
        case 2: return find_codes<2, Code>(run, first, rows, slots);
        case 3: return find_codes<3, Code>(run, first, rows, slots);
        default: return find_codes<4, Code>(run, first, rows, slots);
    }
}

// Eight flags to a group, or four (`Nibbles`): then two groups come from each byte.
template <bool Nibbles, bool Masked>
inline void fold_flags(const Run &run, const std::uint8_t *__restrict bits,
                       const std::uint8_t *__restrict observed, int size,
                       Slot *__restrict slots) {
    const Slot *__restrict limit = run.limit;
    const Slot *__restrict factor = run.factor;
    const Slot *__restrict base = run.base;
    for (int g = 0; g < size; ++g) {
        const int at = Nibbles ? g / 2 : g;
        Slot value = Masked ? bits[at] & observed[at] : bits[at];
        if (Nibbles) value >>= g % 2 * 4;
        slots[g] = base[g] + (value & limit[g]) * factor[g];
    }
}

template <bool Nibbles, bool Masked>
void find_flags(const Run &run, Index first, Index rows, Slot *slots) {
    const auto *bits = static_cast<const std::uint8_t *>(run.source) + first * run.stride;
    const auto *observed = Masked ? run.observed + first * run.stride : bits;
    for (Index row = 0; row < rows; row += run.repeat) {
        const Index number = rows - row < run.repeat ? rows - row : run.repeat;
        fold_flags<Nibbles, Masked>(run, bits + row * run.stride, observed + row * run.stride,
                                    static_cast<int>(number) * run.groups,
                                    slots + row * run.groups);
    }
}

void find_slots(const Run &run, Index first, Index rows, Slot *slots) {
    const bool masked = run.observed != nullptr;
    switch (run.cells) {
        case Cells::code8: return find_codes<std::uint8_t>(run, first, rows, slots);
        case Cells::code16: return find_codes<std::uint16_t>(run, first, rows, slots);
        case Cells::code32: return find_codes<std::uint32_t>(run, first, rows, slots);
        case Cells::byte:
            return (masked ? find_flags<false, true> : find_flags<false, false>)(run, first, rows,
                                                                                 slots);
        case Cells::nibble:
            return (masked ? find_flags<true, true> : find_flags<true, false>)(run, first, rows,
                                                                               slots);
    }
}

// Find the table row of every group in every row.
void read_lookups(const Call &call, Index first, Index rows, Scratch &scratch) {
    for (int i = 0; i < call.lookups.n_runs; ++i) {
        const Run &run = call.lookups.runs[i];
        find_slots(run, first, rows, scratch.slots + run.scratch);
    }
}

// Where the groups of a section are looked up, from the first row of the chunk on.
struct Places {
    const Slot *slots;  // of its first group
    Index step;         // from row to row
    int number;         // of groups
    const Slot *code;   // of the row's code; or null
};

Places places_of(const Lookups &lookups, const Section &section, const Scratch &scratch) {
    const Run &run = lookups.runs[section.run];
    return {scratch.slots + run.scratch + section.first, run.groups, section.last - section.first,
            section.with_code ? scratch.slots : nullptr};
}

// Add up the table rows of several rows at a time: every sum is a chain of additions, and
// several chains go on at once.
template <int Width, int Rows>
inline void add_up(const double *table, const Places &at, Index row, double *scores, int stride) {
    const Slot *slots = at.slots + row * at.step;
    scores += row * stride;
    Lanes value[Rows][Width];
    for (int r = 0; r < Rows; ++r)
        for (int v = 0; v < Width; ++v)
            value[r][v] = load((at.code ? table + at.code[row + r] : scores + r * stride) +
                               v * lanes);
    for (int g = 0; g < at.number; ++g)
        for (int r = 0; r < Rows; ++r) {
            const double *from = table + slots[r * at.step + g];
            hold(from);
            for (int v = 0; v < Width; ++v) value[r][v] += load(from + v * lanes);
        }
    for (int r = 0; r < Rows; ++r)
        for (int v = 0; v < Width; ++v) store(scores + r * stride + v * lanes, value[r][v]);
}

template <int Width>
inline void add_share(double *sums, Slot slot, const Lanes (&value)[Width]) {
    double *to = sums + slot;
    hold(to);
    for (int v = 0; v < Width; ++v) store(to + v * lanes, load(to + v * lanes) + value[v]);
}

template <int Width>
inline void share_out(double *sums, const Places &at, Index row, const double *share) {
    const Slot *slots = at.slots + row * at.step;
    Lanes value[Width];
    for (int v = 0; v < Width; ++v) value[v] = load(share + v * lanes);
    if (at.code) add_share<Width>(sums, at.code[row], value);
    int g = 0;
    for (; g + 3 < at.number; g += 4)
        for (int next = 0; next < 4; ++next) add_share<Width>(sums, slots[g + next], value);
    for (; g < at.number; ++g) add_share<Width>(sums, slots[g], value);
}

void score_lookups(const Call &call, Index rows, Scratch &scratch) {
    for (int s = 0; s < call.lookups.n_sections; ++s) {
        const Places at = places_of(call.lookups, call.lookups.sections[s], scratch);
        by_width(padded(call.scored), [&](auto width, int shift) {
            constexpr int together = width <= 2 ? 4 : width <= 4 ? 2 : 1;
            const double *table = call.lookups.table + shift;
            double *scores = scratch.scores + shift;
            Index row = 0;
            for (; row + together <= rows; row += together)
                add_up<width, together>(table, at, row, scores, call.stride);
            for (; row < rows; ++row) add_up<width, 1>(table, at, row, scores, call.stride);
        });
    }
}

void add_lookups(const Call &call, Index rows, const Scratch &scratch, double *sums) {
    for (int s = 0; s < call.lookups.n_sections; ++s) {
        const Places at = places_of(call.lookups, call.lookups.sections[s], scratch);
        by_width(call.stride, [&](auto width, int shift) {
            double *own = sums + call.lookups.sums + shift;
            hold(own);
            for (Index row = 0; row < rows; ++row)
                share_out<width>(own, at, row, scratch.scores + row * call.stride + shift);
        });
    }
}

void tally_run(const Call &call, const Run &run, Index first, Index rows, const Slot *slots,
               double *sums) {
    for (Index row = first; row < first + rows; ++row, slots += run.groups) {
        if (call.codes[row] < 0) continue;
        double *own = sums + call.codes[row] * call.lookups.slots;
        const double weight = call.weight ? call.weight[row] : 1.0;
        int g = 0;
        for (; g + 3 < run.groups; g += 4)
            for (int next = 0; next < 4; ++next) own[slots[g + next]] += weight;
        for (; g < run.groups; ++g) own[slots[g]] += weight;
    }
}

void tally_lookups(const Call &call, Index first, Index rows, const Scratch &scratch,
                   double *sums) {
    for (int i = 0; i < call.lookups.n_runs; ++i) {
        const Run &run = call.lookups.runs[i];
        tally_run(call, run, first, rows, scratch.slots + run.scratch, sums + call.lookups.sums);
    }
}

}  // namespace
}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
