#include "pass.hpp"

#include <algorithm>
#include <system_error>
#include <thread>

namespace misnomer {

namespace {

constexpr std::chrono::milliseconds patience{100};
constexpr Index fewest_stripes = 4;   // with fewer, threads would wait for each other
constexpr double worth_threads = 1e6;  // additions

}  // namespace

Pass::Pass(const Kernels &kernels, const Plan &plan, const Call &call, Task task, int threads,
           Watch &watch, double *words)
    : kernels_(kernels), plan_(plan), call_(call), task_(task), watch_(watch) {
    const bool adds = task != Task::scores;
    private_sums_ = adds && plan.stripes() >= fewest_stripes;
    const Index chunks = (plan.rows() + plan.chunk() - 1) / plan.chunk();
    const Index wanted = private_sums_ ? plan.stripes() : chunks;
    piece_rows_ = wanted > 0 ? (chunks + wanted - 1) / wanted * plan.chunk() : plan.chunk();
    pieces_ = (plan.rows() + piece_rows_ - 1) / piece_rows_;
    if (adds) {
        memory_ = Buffer<double>(plan.own_size() + (words ? 0 : plan.words_size()));
        total_ = {memory_.data(), words ? words : memory_.data() + plan.own_size()};
    }
    const Index most = plan.work() < worth_threads ? 1 : std::min<Index>(threads, pieces_);
    for (Index i = 0; i < std::max<Index>(most, 1); ++i) desks_.push_back(desk());
}

Pass::Desk Pass::desk() const {
    const Index chunk = plan_.chunk();
    Desk desk;
    desk.scores = Buffer<double>(chunk * call_.stride);
    desk.slots = Buffer<Slot>(chunk * plan_.groups());
    desk.values = Buffer<double>(chunk * plan_.scratch_values());
    desk.seen = Buffer<double>(chunk * plan_.scratch_values());
    desk.cells = Buffer<const double *>(call_.n_reals);
    desk.complete = Buffer<bool>(call_.n_reals);
    desk.tile = Buffer<double>(task_ == Task::expect ? (call_.classes + 4) * tile_rows : 0);
    desk.count = Buffer<double>(word_piece);
    desk.part = Buffer<double>(call_.classes);
    desk.shift = Buffer<int>(call_.classes);
    desk.evidence = Buffer<double>(sketched() ? chunk * call_.stride : 0);
    desk.decided = Buffer<bool>(sketched() ? chunk : 0);
    if (private_sums_) desk.sums = Buffer<double>(plan_.own_size() + plan_.words_size());
    desk.scratch = {desk.scores.data(),   desk.slots.data(),    desk.values.data(),
                    desk.seen.data(),     desk.cells.data(),    desk.complete.data(),
                    desk.tile.data(),     desk.count.data(),    desk.shift.data(),
                    desk.part.data(),     desk.evidence.data(), desk.decided.data(),
                    false,                0.0};
    return desk;
}

bool Pass::run() {
    std::vector<std::thread> others;
    busy_ = 1;
    try {
        for (std::size_t worker = 1; worker < desks_.size(); ++worker) {
            { std::lock_guard<std::mutex> lock(mutex_); ++busy_; }
            others.emplace_back([this, worker] { work(worker); });
        }
    } catch (const std::system_error &) {  // no more threads to be had: fewer do the same
        std::lock_guard<std::mutex> lock(mutex_);
        --busy_;
    }
    work(0);
    wait_for_all();
    for (auto &thread : others) thread.join();
    for (const Desk &desk : desks_) stray_word_ |= desk.scratch.stray_word;
    if (sketched() && !stop_) loglik_ += kernels_.product(call_, total_.words);
    return !stop_;
}

void Pass::work(std::size_t worker) {
    for (Index piece = next_++; piece < pieces_; piece = next_++)
        if (!do_piece(piece, worker)) break;
    std::lock_guard<std::mutex> lock(mutex_);
    --busy_;
    changed_.notify_all();
}

bool Pass::do_piece(Index piece, std::size_t worker) {
    Desk &desk = desks_[worker];
    const Index start = piece * piece_rows_, end = std::min(start + piece_rows_, plan_.rows());
    for (Index first = start; first < end; first += plan_.chunk()) {
        if (stopped(worker)) return false;
        const Index rows = std::min(plan_.chunk(), end - first);
        do_chunk(first, rows, desk.scratch);
        if (private_sums_) add_chunk(first, rows, desk.scratch, desk.own(plan_));
    }
    if (task_ == Task::scores) return true;
    if (!wait_for_turn(piece, worker)) return false;
    if (private_sums_) {
        const Sums part = desk.own(plan_);
        kernels_.merge(total_.own, part.own, plan_.own_size());
        kernels_.merge(total_.words, part.words, plan_.words_size());
    } else {
        add_chunk(start, end - start, desk.scratch, total_);
    }
    end_turn(desk.scratch);
    return true;
}

void Pass::do_chunk(Index first, Index rows, Scratch &scratch) const {
    kernels_.read(call_, first, rows, scratch);
    if (task_ == Task::accumulate) return kernels_.take(call_, first, rows, scratch);
    if (task_ == Task::tally) return;
    kernels_.score(call_, first, rows, scratch);
    if (task_ == Task::scores) return kernels_.give(call_, first, rows, scratch);
    kernels_.share(call_, first, rows, scratch);
}

void Pass::add_chunk(Index first, Index rows, Scratch &scratch, const Sums &sums) const {
    (task_ == Task::tally ? kernels_.tally : kernels_.add)(call_, first, rows, scratch, sums);
}

// Pieces are handed out in order, so whoever has the turn is at work, and nobody waits forever.
bool Pass::wait_for_turn(Index piece, std::size_t worker) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (turn_ != piece) {
        if (stop_) return false;
        changed_.wait_for(lock, patience);
        if (worker != 0) continue;
        lock.unlock();
        stopped(worker);
        lock.lock();
    }
    return true;
}

void Pass::end_turn(Scratch &scratch) {
    std::lock_guard<std::mutex> lock(mutex_);
    loglik_ += scratch.loglik;
    scratch.loglik = 0.0;
    ++turn_;
    changed_.notify_all();
}

// Only the calling thread may ask the watch.
bool Pass::stopped(std::size_t worker) {
    if (worker != 0 || stop_) return stop_;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_look_ < patience) return false;
    last_look_ = now;
    if (watch_.stop()) {
        stop_ = true;
        changed_.notify_all();
    }
    return stop_;
}

void Pass::wait_for_all() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (busy_ > 0) {
        changed_.wait_for(lock, patience);
        lock.unlock();
        stopped(0);
        lock.lock();
    }
}

}  // namespace misnomer
