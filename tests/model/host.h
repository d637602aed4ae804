/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plays QEMU and a driver for the NPU's device model: guest memory in a file,
 * the ivshmem protocol, BAR2, doorbells, interrupts, page tables and queues.
 */
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npu_mmio.h"

namespace ai0::test {

using std::chrono::milliseconds;

/* On a machine with two busy cores everything takes its time. */
inline constexpr milliseconds kPatience{20000};

struct HostOptions {
    std::string profile = "npu";
    std::vector<std::string> extra;
    std::filesystem::path cache; /* shared between models if given */
    std::uint64_t ram_bytes = 256ULL << 20;
    std::uint64_t lowmem_bytes = 192ULL << 20;
    bool boot = true;
};

class Host {
public:
    explicit Host(HostOptions options = {});
    ~Host();
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    /* ---- registers ---- */
    volatile npu_regs& regs() { return *reinterpret_cast<npu_regs*>(bar2_.data()); }
    std::span<std::byte> bar2() { return bar2_; }
    void ring(unsigned doorbell);
    /* Takes an interrupt; false if none came in time. */
    bool interrupt(unsigned vector, milliseconds patience);
    template <typename Condition>
    bool eventually(Condition condition, milliseconds patience = kPatience)
    {
        auto end = std::chrono::steady_clock::now() + patience;
        while (!condition()) {
            if (std::chrono::steady_clock::now() > end)
                return false;
            pause();
        }
        return true;
    }
    bool wait_state(npu_state state, milliseconds patience = kPatience);
    std::string firmware_log();

    /* ---- resets ---- */
    bool reset(npu_reset what, milliseconds patience = kPatience);
    bool to_rom();
    bool power_cycle();
    static std::vector<std::byte> good_image();
    /* Gives an image to the ROM and returns the state it leads to. */
    std::uint32_t boot(const std::vector<std::byte>& image);
    /* A booted device with queues and address space 0; asserts that it works. */
    bool bring_up();

    /* ---- guest memory ---- */
    std::uint64_t alloc(std::uint64_t bytes); /* bus address of new zeroed pages */
    std::byte* memory(std::uint64_t bus);
    template <typename T> T* at(std::uint64_t bus) { return reinterpret_cast<T*>(memory(bus)); }
    std::uint64_t ram_bytes() const { return options_.ram_bytes; }
    npu_config& config() { return *at<npu_config>(config_); }
    std::uint64_t config_address() const { return config_; }

    /* ---- page tables ---- */
    struct Space {
        std::uint32_t asid;
        std::uint64_t root;
    };
    Space make_tables(std::uint32_t asid);
    void map(const Space& space, std::uint64_t va, std::uint64_t address, std::uint64_t bytes,
             std::uint64_t flags);
    void unmap(const Space& space, std::uint64_t va, std::uint64_t bytes);
    /* Makes it known to the device. */
    Space create_space(std::uint32_t asid);
    const Space& own() const { return own_; }

    /* ---- commands ---- */
    std::uint64_t send(unsigned queue, npu_cmd cmd); /* gives the tag */
    std::optional<npu_cpl> wait(std::uint64_t tag, milliseconds patience = kPatience);
    npu_cpl call(unsigned queue, const npu_cmd& cmd); /* status 0xffffffff if none came */
    npu_cpl control(npu_op op, std::uint32_t asid = 0, std::uint64_t object = 0,
                    std::array<std::uint64_t, 3> arg = {});
    /* Completions that nobody waited for. */
    std::size_t strange_completions() const { return strange_; }
    void take_completions();

    /* ---- models and jobs ---- */
    struct Loaded {
        npu_cpl cpl;
        npu_model_info* info;
        std::uint64_t id;
    };
    Loaded load(std::span<const std::byte> model);
    std::uint64_t load_begin(std::span<const std::byte> model, Loaded& loaded);
    npu_cpl unload(std::uint64_t id) { return control(NPU_OP_MODEL_UNLOAD, 0, id); }

    /* ---- control socket, process ---- */
    std::string say(const std::string& line);
    double state_number(const std::string& key);
    int slot_pid() const { return pid_; }
    const std::filesystem::path& folder() const { return folder_; }
    const std::filesystem::path& cache() const { return cache_; }
    void disconnect();
    bool process_ended(milliseconds patience = kPatience);

private:
    struct Queue {
        std::uint64_t index, cmd, cpl;
        std::uint32_t cmd_tail = 0;
        std::uint32_t cpl_head = 0;
    };

    void start_process();
    void connect();
    void set_up_queues();
    std::uint64_t* table_entry(const Space& space, std::uint64_t va, unsigned level, bool create);
    static void pause();

    HostOptions options_;
    std::filesystem::path folder_, cache_;
    int pid_ = 0;
    int socket_ = -1;
    int bar2_fd_ = -1, ram_fd_ = -1;
    std::array<int, NPU_VECTORS> doorbells_{}, interrupts_{};
    std::span<std::byte> bar2_, ram_;
    std::uint64_t next_page_ = 1 << 20;
    std::uint64_t config_ = 0;
    std::uint64_t next_model_va_ = 1ULL << 32;
    std::uint64_t next_model_ = 1;
    Space own_{};
    Queue queues_[NPU_QUEUES];
    std::uint64_t next_tag_ = 1;
    std::map<std::uint64_t, npu_cpl> completed_;
    std::map<std::uint64_t, bool> sent_;
    std::size_t strange_ = 0;
};

} // namespace ai0::test
