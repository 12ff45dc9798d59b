// Columns of codes and flags: a row's evidence is a sum of table rows.
#pragma once

#include "kernels.hpp"
#include "lanes.hpp"
#include "widths.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

// Find the table rows of `size` groups, which may go on over several rows. The pointers do not
// overlap: knowing it, the compiler vectorizes.
template <class Code, int Fold>
inline void fold_codes(const Run &run, const Code *__restrict codes, int size,
                       Slot *__restrict slots) {
    const Slot *__restrict limit = run.limit;
    const Slot *__restrict factor = run.factor;
    const Slot *__restrict base = run.base;
    const int next = run.repeat * run.groups;
    for (int g = 0; g < size; ++g) {
        Slot slot = base[g];
        for (int f = 0; f < Fold; ++f) {
            const Slot code = codes[g * Fold + f], most = limit[f * next + g];
            slot += (code < most ? code : most) * factor[f * next + g];
        }
        slots[g] = slot;
    }
}

template <class Code, int Fold>
void find_codes(const Run &run, Index first, Index rows, Slot *slots) {
    const Code *codes = static_cast<const Code *>(run.source) + first * run.stride;
    for (Index row = 0; row < rows; row += run.repeat) {
        const Index number = rows - row < run.repeat ? rows - row : run.repeat;
        fold_codes<Code, Fold>(run, codes + row * run.stride, static_cast<int>(number) * run.groups,
                               slots + row * run.groups);
    }
}

template <class Code>
void find_codes(const Run &run, Index first, Index rows, Slot *slots) {
    switch (run.fold) {
        case 1: return find_codes<Code, 1>(run, first, rows, slots);
        case 2: return find_codes<Code, 2>(run, first, rows, slots);
        case 3: return find_codes<Code, 3>(run, first, rows, slots);
        default: return find_codes<Code, 4>(run, first, rows, slots);
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

template <int Width>
void add_rows(const double *table, const Slot *slots, int groups, int number, Index rows,
              double *scores, int stride) {
    for (Index row = 0; row < rows; ++row, slots += groups, scores += stride) {
        Lanes value[Width];
        for (int v = 0; v < Width; ++v) value[v] = load(scores + v * lanes);
        for (int g = 0; g < number; ++g)
            for (int v = 0; v < Width; ++v) value[v] += load(table + slots[g] + v * lanes);
        for (int v = 0; v < Width; ++v) store(scores + v * lanes, value[v]);
    }
}

template <int Width>
void add_shares(double *sums, const Slot *slots, int groups, int number, Index rows,
                const double *share, int stride) {
    for (Index row = 0; row < rows; ++row, slots += groups, share += stride) {
        Lanes value[Width];
        for (int v = 0; v < Width; ++v) value[v] = load(share + v * lanes);
        for (int g = 0; g < number; ++g)
            for (int v = 0; v < Width; ++v) {
                double *at = sums + slots[g] + v * lanes;
                store(at, load(at) + value[v]);
            }
    }
}

void score_lookups(const Call &call, Index rows, Scratch &scratch) {
    for (int s = 0; s < call.lookups.n_sections; ++s) {
        const Section &section = call.lookups.sections[s];
        const Run &run = call.lookups.runs[section.run];
        by_width(call.stride, [&](auto width, int shift) {
            add_rows<width>(call.lookups.table + shift,
                            scratch.slots + run.scratch + section.first, run.groups,
                            section.last - section.first, rows, scratch.scores + shift,
                            call.stride);
        });
    }
}

void add_lookups(const Call &call, Index rows, const Scratch &scratch, double *sums) {
    for (int s = 0; s < call.lookups.n_sections; ++s) {
        const Section &section = call.lookups.sections[s];
        const Run &run = call.lookups.runs[section.run];
        by_width(call.stride, [&](auto width, int shift) {
            add_shares<width>(sums + call.lookups.sums + shift,
                              scratch.slots + run.scratch + section.first, run.groups,
                              section.last - section.first, rows, scratch.scores + shift,
                              call.stride);
        });
    }
}

void tally_run(const Call &call, const Run &run, Index first, Index rows, const Slot *slots,
               double *sums) {
    for (Index row = first; row < first + rows; ++row, slots += run.groups) {
        if (call.codes[row] < 0) continue;
        double *own = sums + call.codes[row] * call.lookups.slots;
        const double weight = call.weight ? call.weight[row] : 1.0;
        for (int g = 0; g < run.groups; ++g) own[slots[g]] += weight;
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
