// One pass over the rows, by several threads, with one result.
//
// The rows are cut into pieces in a way that depends on the table alone. Each piece has sums of
// its own, which are added to the total in the order of the pieces: so the result is the same,
// to the last bit, however many threads there are. Where sums are so large that this would cost
// too much, pieces are short, and are scored in parallel but added one after the other.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "buffer.hpp"
#include "kernels.hpp"
#include "plan.hpp"

namespace misnomer {

enum class Task { scores, accumulate, tally, expect };

// Asked from time to time by the thread that called: whether to give up.
class Watch {
  public:
    virtual ~Watch() = default;
    virtual bool stop() = 0;
};

class Pass {
  public:
    // `words` are zeros to which the sums of words are added, or null.
    Pass(const Kernels &kernels, const Plan &plan, const Call &call, Task task, int threads,
         Watch &watch, double *words = nullptr);

    bool run();  // false where the watch stopped it
    const Sums &sums() const { return total_; }
    double loglik() const { return loglik_; }
    bool stray_word() const { return stray_word_; }

  private:
    // A thread's own memory.
    struct Desk {
        Buffer<double> scores, values, seen, tile, count, part, evidence, sums;
        Buffer<int> shift;
        Buffer<Slot> slots;
        Buffer<const double *> cells;
        Buffer<bool> complete, decided;
        Scratch scratch{};
        Sums own(const Plan &plan) const { return {sums.data(), sums.data() + plan.own_size()}; }
    };

    Desk desk() const;
    bool sketched() const { return call_.n_words > 0 && call_.words[0].sketch != nullptr; }
    void work(std::size_t worker);
    bool do_piece(Index piece, std::size_t worker);
    void do_chunk(Index first, Index rows, Scratch &scratch) const;
    void add_chunk(Index first, Index rows, Scratch &scratch, const Sums &sums) const;
    bool wait_for_turn(Index piece, std::size_t worker);
    void end_turn(Scratch &scratch);
    bool stopped(std::size_t worker);
    void wait_for_all();

    const Kernels &kernels_;
    const Plan &plan_;
    const Call call_;
    const Task task_;
    Watch &watch_;
    bool private_sums_;
    Index piece_rows_, pieces_;
    std::vector<Desk> desks_;
    Buffer<double> memory_;
    Sums total_{};
    double loglik_ = 0;
    bool stray_word_ = false;

    std::atomic<Index> next_{0};
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    Index turn_ = 0;
    std::size_t busy_ = 0;
    std::chrono::steady_clock::time_point last_look_ = std::chrono::steady_clock::now();
};

}  // namespace misnomer
