/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tensor engine, which runs models, and the copy engine. Each engine is a
 * thread; jobs begin in the order in which they came.
 */
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "board.h"
#include "compile_unit.h"
#include "config.h"
#include "done_fifo.h"
#include "inference.h"
#include "job_ram.h"
#include "mmu.h"
#include "thermal.h"

namespace ai0::npu {

class TensorEngine {
public:
    TensorEngine(const Profile& profile, Mmu& mmu, CompileUnit& compiler, JobRam& job_ram,
                 Thermal& thermal, Board& board, DoneFifo& done);
    ~TensorEngine();
    TensorEngine(const TensorEngine&) = delete;
    TensorEngine& operator=(const TensorEngine&) = delete;

    /* Takes the work in a slot; it completes in the FIFO. */
    void start(std::uint32_t slot);

    /* Ends a job that waits at once, one that runs as soon as it can be. */
    void abort(std::uint32_t slot);

    /*
     * Ends what runs in the tensor engine, leaves what waits. Completes in the
     * FIFO: with NPU_ST_OK, or NPU_ST_ENGINE when the engine does not stop.
     */
    void reset();

    /* Whether a reset since @sequence has ended, and how. */
    std::uint32_t resets_done() const { return resets_done_; }
    bool last_reset_worked() const { return last_reset_worked_; }

    /* Gives up a reset that takes too long; to be called now and then. */
    void tick();

    /* Time the engines were busy since the last call, together. */
    std::uint64_t take_busy_ns();

private:
    enum Queue { kTensor, kCopy, kQueues };

    struct Engine {
        std::thread thread;
        std::shared_ptr<Job> running;
        std::uint64_t begun_ns = 0;
    };

    void engine_thread(unsigned index);
    void copy_thread();
    std::shared_ptr<Job> next(Queue queue, Engine* engine);
    void infer(Job& job);
    void copy(Job& job);
    void hang(Job& job);
    void stretch(Job& job, std::uint64_t begin);
    void finish(Job& job);
    void finish_reset_locked(bool worked);
    static void stop(Job& job, Stop why);

    const Profile& profile_;
    Mmu& mmu_;
    CompileUnit& compiler_;
    JobRam& job_ram_;
    Thermal& thermal_;
    Board& board_;
    DoneFifo& done_;

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::shared_ptr<Job>> waiting_[kQueues];
    std::vector<Engine> engines_;
    Engine copier_;
    std::uint64_t busy_ns_ = 0; /* of jobs that ended */
    std::uint64_t busy_taken_ns_ = 0;
    bool resetting_ = false;
    std::uint64_t reset_deadline_ns_ = 0;
    std::atomic<std::uint32_t> resets_done_{0};
    std::atomic<bool> last_reset_worked_{true};
    std::atomic<std::uint32_t> inferences_{0};
    bool shut_down_ = false;
};

} // namespace ai0::npu
