/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The compile unit: makes models ready on a thread of its own, and keeps the
 * table of models.
 */
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "board.h"
#include "compile_cache.h"
#include "done_fifo.h"
#include "job_ram.h"
#include "mmu.h"
#include "model.h"

namespace ai0::npu {

class CompileUnit {
public:
    CompileUnit(Ort::Env& env, Mmu& mmu, CompileCache& cache, JobRam& job_ram, Board& board,
                DoneFifo& done);
    ~CompileUnit();
    CompileUnit(const CompileUnit&) = delete;
    CompileUnit& operator=(const CompileUnit&) = delete;

    void set_firmware_version(std::uint32_t version) { firmware_ = version; }

    /* Both complete in the FIFO. */
    void load(std::uint32_t slot, std::uint64_t id, DeviceAddress artefact, std::uint64_t bytes);
    void unload(std::uint32_t slot, std::uint64_t id);

    /* Null if there is no such model, or it is not ready. */
    std::shared_ptr<Model> find(std::uint64_t id);

    static std::string engine_name();

private:
    struct Load {
        std::uint32_t slot;
        std::uint64_t id;
        DeviceAddress artefact;
        std::uint64_t bytes;
    };

    /* A model being made, ready, or waiting for its last job. */
    struct Entry {
        std::shared_ptr<Model> model;
        bool cancelled = false;
        Ort::SessionOptions* compiling = nullptr; /* of the thread, while it compiles */
        std::shared_ptr<std::optional<std::uint32_t>> unload_slot; /* who waits for the end */
    };

    struct Outcome {
        npu_status status = NPU_ST_OK;
        std::string sentence;
        std::unique_ptr<Model> model;
        bool cached = false;
    };

    void thread();
    void serve(const Load& load);
    static Outcome refuse(npu_status status, std::string sentence);
    void hang(const Load& load);
    Outcome compile(const Load& load, __u64& fault);
    Outcome build(const Load& load, std::span<const std::byte> artefact);
    std::optional<std::vector<std::byte>> optimise(const Load& load,
                                                   std::span<const std::byte> artefact);
    std::unique_ptr<Model> create(const Load& load, std::span<const std::byte> bytes);
    Ort::Session session(const Load& load, std::span<const std::byte> bytes,
                         Ort::SessionOptions& options);
    void publish(Entry& entry, std::unique_ptr<Model> model);

    Ort::Env& env_;
    Mmu& mmu_;
    CompileCache& cache_;
    JobRam& job_ram_;
    Board& board_;
    DoneFifo& done_;
    std::atomic<std::uint32_t> firmware_{0};

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Load> loads_;
    std::unordered_map<std::uint64_t, Entry> models_;
    /* Loads that were cancelled by an unload which waits for their end: slot by id. */
    std::unordered_map<std::uint64_t, std::uint32_t> unload_after_;
    bool stop_ = false;
    std::thread thread_;
};

} // namespace ai0::npu
