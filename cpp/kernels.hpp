// What the kernels read and write, and the table of kernels that every instruction set provides.
//
// kernels*.cpp is compiled once per instruction set. Two copies of an inline function
// or template that is not inlined would be merged by the linker, and the copy that
// survives may use instructions this processor lacks. So those files keep every helper
// in an unnamed namespace and leave containers, threads and exceptions to the files
// that are compiled once.
#pragma once

#include <cstdint>

namespace misnomer {

using Index = std::int64_t;
using Slot = std::uint32_t;  // an element of a table: its row times its stride

enum class Cells { code8, code16, code32, byte, nibble };

// Adjacent columns of one array, `fold` of them at a time combined to one row of a table:
// slot = base + sum over its columns of min(code, limit) * factor.
// Of flags, `limit` is the mask of the bits that are there.
struct Run {
    Cells cells;
    const void *source;            // the first column in the first row
    const std::uint8_t *observed;  // flags with missing cells: the bits that count
    Index stride;                  // from row to row, in cells
    int fold;
    int groups;                  // in a row
    int repeat;                  // rows for which limit, factor and base are spelled out
    const Slot *limit, *factor;  // (fold, repeat, groups)
    const Slot *base;            // (repeat, groups)
    const std::uint16_t *short_limit, *short_factor;  // the same where they fit; or null
    Index scratch;               // where its rows begin in Scratch::slots
};

// Groups of a run whose tables fit into the first-level cache together.
struct Section {
    int run;
    int first, last;
    bool with_code;  // the row's code, which is the first run, is looked up on the way
};

// The columns that look their weights up in a table, the row's code first.
struct Lookups {
    const Run *runs;
    int n_runs;
    const Section *sections;
    int n_sections;
    const double *table;  // (slots, stride)
    Index slots;
    Index sums;  // in Sums::own: (slots, stride)
};

struct Reals {
    const void *values;  // (n, columns)
    bool single;         // float32
    const double *center;    // (step)
    int columns;
    int step;                // of a row that was copied: at least a vector
    int padded, last;        // padded to whole vectors, of which the last begins at `last`
    const double *weights;   // (3, classes, padded)
    const double *constant;  // (classes): the weights of "observed", added up
    Index sums;              // in Sums::own: mass (classes), then (3, classes, padded)
    Index scratch;           // where its rows begin in Scratch::values, Scratch::seen
};

enum class Number { f64, f32, i64, u64, i32, u32, i16, u16, i8, u8 };

struct Words {
    const void *data;
    Number number;
    const void *indices, *starts;
    bool wide;  // 64-bit indices and starts
    Index columns, cells;
    const double *weights;  // (columns, stride)
    Index sums;             // in Sums::words: (columns, stride)
    const std::uint32_t *sketch;  // of the weights (sketch.hpp), or null
};

// One pass over the rows of one table.
struct Call {
    int classes;
    int scored;  // those that have weights: all, or all but the last, whose scores are zero
    int stride;  // classes padded to whole vectors; 1 where sums by code lie apart
    Lookups lookups;
    const Reals *reals;
    int n_reals;
    const Words *words;
    int n_words;
    const std::int32_t *codes;  // the row's code: of expect and tally
    const double *weight;       // or null
    const double *share;        // (n, classes): of accumulate
    double *scores;             // (n, classes): of scores
};

// Where sums are added up. Those of words are many, and may lie in the result itself.
struct Sums {
    double *own, *words;
};

// What a thread needs for the chunk of rows that it works on.
struct Scratch {
    double *scores;   // (chunk, stride), then the shares
    Slot *slots;      // of each run (chunk, groups)
    double *values;   // of each block of reals (chunk, step)
    double *seen;     // the same
    const double **cells;  // of each block of reals: its rows, copied or not
    bool *complete;        // of each block of reals: no cell of the chunk is missing
    double *tile;     // (classes + 4, tile_rows)
    double *count;    // (word_piece)
    int *shift;       // (classes): those that take part in a row
    double *part;     // (classes): and their shares
    double *evidence; // of words (chunk, stride): of rows that a sketch did not decide
    bool *decided;    // (chunk): by a sketch
    bool stray_word;  // an index beyond the vocabulary was met
    double loglik;
};

constexpr int tile_rows = 64;
constexpr int word_piece = 1024;
constexpr int widest = 8;  // vectors of classes that are held in registers

struct SharesCall;   // shares.hpp
struct SoftmaxCall;
struct SlopesCall;

struct Kernels {
    const char *variant;
    int lanes;
    void (*read)(const Call &, Index first, Index rows, Scratch &);
    void (*score)(const Call &, Index first, Index rows, Scratch &);
    void (*give)(const Call &, Index first, Index rows, const Scratch &);
    void (*take)(const Call &, Index first, Index rows, Scratch &);
    void (*share)(const Call &, Index first, Index rows, Scratch &);
    void (*add)(const Call &, Index first, Index rows, Scratch &, const Sums &);
    void (*tally)(const Call &, Index first, Index rows, Scratch &, const Sums &);
    Index (*sketch_size)(int classes);  // of a word; zero where there is none
    bool (*sketch)(const Call &, Index rows, std::uint32_t *to);  // false where it would not pay
    double (*product)(const Call &, const double *words);  // of weights and sums of words
    void (*merge)(double *total, double *part, Index size);
    void (*presence8)(const std::uint8_t *, Index rows, Index columns, std::uint8_t *seen);
    void (*presence16)(const std::uint16_t *, Index rows, Index columns, std::uint8_t *seen);
    bool (*log_shares)(const SharesCall &);  // false where a count is not positive
    void (*softmax)(const SoftmaxCall &);
    void (*label_slopes)(const SlopesCall &);
};

namespace baseline { const Kernels &kernels(); }
#ifdef MISNOMER_WITH_AVX2
namespace avx2 { const Kernels &kernels(); }
#endif
#ifdef MISNOMER_WITH_AVX512
namespace avx512 { const Kernels &kernels(); }
#endif

}  // namespace misnomer
