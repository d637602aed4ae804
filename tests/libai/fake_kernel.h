/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel for tests: answers the calls of uapi/ai.h from ordinary memory and checks
 * every struct as the real one does.
 */
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ai/model.h>
#include <ai/session.h>
#include <ai/syscalls.h>
#include <ai/uapi/ai.h>

class FakeKernel final : public ai::Syscalls {
public:
    /* One inference, as the engine sees it. */
    struct Job {
        std::vector<ai_tensor> inputs;
        std::vector<ai_tensor> outputs; /* to be completed: dtype, rank, dims, needed */
        std::vector<std::span<std::byte>> input_data;
        std::vector<std::span<std::byte>> output_data;
        std::uint64_t cookie = 0;
        std::int64_t timeout_ns = 0;
        std::int64_t deadline_ns = 0;
        std::uint32_t priority = 0;
        int contract = 0;
        ai_infer* argument = nullptr; /* for what the record of a contract says */
        std::string sentence;         /* of an error */
    };

    struct ModelSpec {
        std::vector<ai_tensor_info> inputs;
        std::vector<ai_tensor_info> outputs;
    };

    /* What the next model to be loaded is like. */
    ModelSpec model;
    /* Runs each job; a negative error number fails it. */
    std::function<int(Job&)> on_infer;
    std::vector<ai_device_info> devices;
    std::uint32_t abi_major = AI_ABI_MAJOR;
    int open_error = 0;
    /* So many calls end with EINTR before one is served. */
    int interruptions = 0;
    /* Fails the next call of this number with this error and no sentence. */
    unsigned long fail_request = 0;
    int fail_error = 0;
    /* What is imported cannot be mapped for writing; or not at all. */
    bool imports_read_only = false;
    bool imports_cannot_be_mapped = false;
    /* So many AI_MODEL_INFO say "compiling" after a load without waiting. */
    int compiling = 0;
    /* The next contract is refused with this answer. */
    std::optional<ai_contract_create> refusal;
    /* What AI_CONTRACT_QUERY says of each, beside its terms. */
    ai_contract_info figures{};
    /* Of every contract. */
    std::vector<ai_event> events;
    /* Size of a dump, and by how much the next one is larger. */
    std::uint64_t dump_bytes = 100;
    std::uint64_t dump_grows = 0;
    std::string model_failure; /* then the model fails with this reason */
    bool hide_jobs = false;    /* AI_CANCEL finds no job */

    /* What has been seen. */
    int opens = 0;
    int closes = 0;
    std::atomic<int> cancels{0};
    std::atomic<std::uint64_t> cancelled_cookie{0};
    ai_model_load last_load{};
    std::vector<std::byte> last_artefact;
    ai_alloc last_alloc{};
    ai_export last_export{};
    ai_import last_import{};
    std::vector<std::pair<std::uint32_t, std::int64_t>> syncs; /* flags, time-out */
    int unmaps = 0;
    int renewals = 0;
    int dumps = 0;
    std::vector<std::string> violations; /* of the interface, by the library */

    std::size_t live_ranges() const { return ranges_.size(); }
    std::size_t live_models() const { return models_.size(); }
    std::size_t live_contracts() const { return contracts_.size(); }
    int infers() const { return infers_; }

    int open(const char* path, int flags) override;
    void close(int fd) override;
    int ioctl(int fd, unsigned long request, void* argument) override;
    long read(int fd, std::span<std::byte> to) override;
    int wait_readable(int fd, ai::Nanoseconds timeout) override;
    int map(int fd, std::uint64_t offset, ai::Bytes size, bool write, std::byte** to) override;
    void unmap(std::span<std::byte> pages) override;

private:
    struct Contract {
        ai_contract_create terms{};
        std::vector<ai_memory_term> memory;
        std::size_t read = 0; /* events */
    };

    struct alignas(4096) Page {
        std::array<std::byte, 4096> bytes;
    };
    using Range = std::vector<Page>;

    static std::span<std::byte> memory(Range& range)
    {
        return {range.front().bytes.data(), range.size() * sizeof(Page)};
    }

    int dispatch(int fd, unsigned long request, void* argument);
    int info(ai_info& argument);
    int device_info(ai_device_info& argument);
    int alloc(ai_alloc& argument);
    int free(ai_free& argument);
    int export_range(ai_export& argument);
    int import(ai_import& argument);
    int model_load(ai_model_load& argument);
    int model_info(ai_model_info& argument);
    int model_unload(ai_model_unload& argument);
    int infer(ai_infer& argument);
    int cancel(ai_cancel& argument);
    int contract_create(ai_contract_create& argument);
    int contract_query(int fd, ai_contract_info& argument);
    int contract_events(ai_contract_events& argument);
    int dump(ai_dump& argument);

    std::span<std::byte> resolve(const ai_tensor& tensor);
    void require(bool holds, const char* what);

    std::mutex mutex_;
    std::map<std::uint64_t, Range> ranges_;
    std::map<std::uint32_t, ModelSpec> models_;
    std::map<int, Contract> contracts_; /* by descriptor, which is its number + 2000 */
    std::uint64_t next_page_ = 1;
    std::uint32_t next_model_ = 1;
    std::atomic<std::uint64_t> running_cookie_{0};
    std::atomic<int> infers_{0};
};

/* What a model says of a tensor. */
ai_tensor_info tensor_info(const char* name, ai_dtype dtype, std::vector<std::int64_t> dims);

/* Completes an output of a job. */
void set_output(ai_tensor& output, ai_dtype dtype, std::vector<std::uint64_t> dims,
                std::uint64_t needed);

ai_device_info device_info(std::uint32_t device, const char* name);
