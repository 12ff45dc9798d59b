#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "blocks.hpp"
#include "dispatch.hpp"
#include "pass.hpp"
#include "plan.hpp"
#include "module_parts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace misnomer {

namespace {

using Weights = Array<const double, nb::ndim<2>>;
using Results = Array<double, nb::ndim<2>>;
using RowCodes = Array<const std::int32_t, nb::ndim<1>, nb::c_contig>;
using RowWeights = std::optional<Doubles>;
using Share = Array<const double, nb::ndim<2>, nb::c_contig>;

// Lets Ctrl-C stop a long pass: Python hears of it only when it is asked.
class Signals : public Watch {
  public:
    bool stop() override {
        nb::gil_scoped_acquire held;
        return PyErr_CheckSignals() != 0;
    }
};

// A view of numbers by class (the given axis) and statistic (the other).
template <class View>
Matrix matrix(const View &array, int class_axis) {
    return {const_cast<double *>(array.data()), array.stride(class_axis),
            array.stride(1 - class_axis)};
}

int padded(std::size_t classes, int lanes) {
    return static_cast<int>((classes + lanes - 1) / lanes * lanes);
}

Layout side_by_side(std::size_t classes, std::size_t scored, int lanes) {
    return {static_cast<int>(classes), static_cast<int>(scored), padded(classes, lanes), false};
}

const double *weights_of_rows(const RowWeights &weight) {
    return weight ? weight->data() : nullptr;
}

// Where in the result the sums of words can be added up; null where its layout is another.
double *words_of(const Plan &plan, const Results &out) {
    const bool fits = out.stride(0) == 1 && out.stride(1) == plan.stride();
    return fits ? plan.words_in(out.data()) : nullptr;
}

bool only_words(const Blocks &blocks) {
    return !blocks.words.empty() && blocks.codes.empty() && blocks.flags.empty() &&
           blocks.reals.empty();
}

// Run a pass with the interpreter free for others.
void run(Pass &pass) {
    bool done;
    {
        nb::gil_scoped_release released;
        done = pass.run();
    }
    if (!done) throw nb::python_error();
    if (pass.stray_word())
        throw std::invalid_argument(
            "A matrix of words has an index beyond its columns: rebuild the matrix.");
}

void scores(const Blocks &blocks, const Weights &weights, const Results &out, int threads) {
    const Kernels &kernels = chosen_kernels();
    Plan plan(blocks, side_by_side(weights.shape(0), weights.shape(0), kernels.lanes), nullptr, 0, kernels.lanes);
    plan.fold(matrix(weights, 0), {});
    Call call = plan.call();
    call.scores = out.data();
    Signals signals;
    Pass pass(kernels, plan, call, Task::scores, threads, signals);
    run(pass);
}

void accumulate(const Blocks &blocks, const Share &share, const Results &out, int threads) {
    const Kernels &kernels = chosen_kernels();
    Plan plan(blocks, side_by_side(share.shape(1), 0, kernels.lanes), nullptr, 0, kernels.lanes);
    Call call = plan.call();
    call.share = share.data();
    Signals signals;
    Pass pass(kernels, plan, call, Task::accumulate, threads, signals, words_of(plan, out));
    run(pass);
    plan.unfold(pass.sums(), matrix(out, 0), {});
}

void tally(const Blocks &blocks, const RowCodes &codes, const RowWeights &weight,
           const Results &out, int threads) {
    const Kernels &kernels = chosen_kernels();
    // The sums of words alone may lie side by side.
    const bool beside = only_words(blocks) && out.stride(0) == 1;
    const Layout layout = beside ? side_by_side(out.shape(0), 0, kernels.lanes)
                                 : Layout{static_cast<int>(out.shape(0)), 0, 1, true};
    Plan plan(blocks, layout, nullptr, 0, kernels.lanes);
    Call call = plan.call();
    call.codes = codes.data();
    call.weight = weights_of_rows(weight);
    Signals signals;
    Pass pass(kernels, plan, call, Task::tally, threads, signals,
              beside ? words_of(plan, out) : nullptr);
    run(pass);
    plan.unfold(pass.sums(), matrix(out, 0), {});
}

double expect(const Blocks &blocks, const Weights &weights, const Weights &table,
              const RowCodes &codes, const RowWeights &weight, const Results &joint,
              const Results &out, int threads) {
    const Kernels &kernels = chosen_kernels();
    Plan plan(blocks, side_by_side(out.shape(0), weights.shape(0), kernels.lanes), codes.data(),
              table.shape(0), kernels.lanes);
    plan.fold(matrix(weights, 0), matrix(table, 1));
    plan.sketch(kernels);
    Call call = plan.call();
    call.codes = codes.data();
    call.weight = weights_of_rows(weight);
    Signals signals;
    Pass pass(kernels, plan, call, Task::expect, threads, signals, words_of(plan, out));
    run(pass);
    plan.unfold(pass.sums(), matrix(out, 0), matrix(joint, 1));
    return pass.loglik();
}

void presence(const AnyRows &codes, const Array<std::uint8_t, nb::ndim<2>, nb::c_contig> &seen) {
    const Kernels &kernels = chosen_kernels();
    const Index rows = codes.shape(0), columns = codes.shape(1);
    nb::gil_scoped_release released;
    if (codes.itemsize() == 1)
        kernels.presence8(static_cast<const std::uint8_t *>(codes.data()), rows, columns,
                          seen.data());
    else
        kernels.presence16(static_cast<const std::uint16_t *>(codes.data()), rows, columns,
                           seen.data());
}

std::string variant() { return chosen_kernels().variant; }

std::vector<std::string> variants() {
    std::vector<std::string> names;
    for (const auto *kernels : usable_kernels()) names.emplace_back(kernels->variant);
    return names;
}

}  // namespace

}  // namespace misnomer

NB_MODULE(_compiled, m) {
    using namespace misnomer;
    m.doc() = "The kernels, compiled.";
    nb::class_<Blocks>(m, "Blocks", "The compact form of some rows.")
        .def(nb::init<Index>(), "rows"_a)
        .def("add_codes", &Blocks::add_codes, "codes"_a.noconvert(), "sizes"_a)
        .def("add_flags", &Blocks::add_flags, "bits"_a.noconvert(),
             "observed"_a.noconvert().none(), "columns"_a)
        .def("add_reals", &Blocks::add_reals, "values"_a.noconvert(), "center"_a.noconvert())
        .def("add_words", &Blocks::add_words, "data"_a.noconvert(), "indices"_a.noconvert(),
             "starts"_a.noconvert(), "columns"_a)
        .def_ro("width", &Blocks::width, "How many statistics a row has.")
        .def_prop_ro("only_words", &only_words)
        .def_prop_ro("has_words", [](const Blocks &blocks) { return !blocks.words.empty(); });
    m.def("scores", &scores, "blocks"_a, "weights"_a.noconvert(), "out"_a.noconvert(),
          "threads"_a);
    m.def("accumulate", &accumulate, "blocks"_a, "share"_a.noconvert(), "out"_a.noconvert(),
          "threads"_a);
    m.def("tally", &tally, "blocks"_a, "codes"_a.noconvert(), "weight"_a.noconvert().none(),
          "out"_a.noconvert(), "threads"_a);
    m.def("expect", &expect, "blocks"_a, "weights"_a.noconvert(), "table"_a.noconvert(),
          "codes"_a.noconvert(), "weight"_a.noconvert().none(), "joint"_a.noconvert(),
          "out"_a.noconvert(), "threads"_a);
    add_shares(m);
    m.def("presence", &presence, "codes"_a.noconvert(), "seen"_a.noconvert());
    m.def("padded", [](std::size_t n) { return padded(n, chosen_kernels().lanes); }, "classes"_a,
          "Round a number of classes up to whole vectors.");
    m.def("variant", &variant, "Name the instruction set in use: baseline, avx2 or avx512.");
    m.def("variants", &variants, "Name the instruction sets usable here, slowest first.");
}
