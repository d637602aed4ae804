/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control core: a RISC-V hart with its memory and the registers of the units,
 * on a thread of its own. It is started once in the life of a silicon; whoever
 * wants to start it again gives the silicon a reset.
 */
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>

#include <unicorn/unicorn.h>

#include "bar2.h"
#include "board.h"
#include "boot_rom.h"
#include "compile_unit.h"
#include "done_fifo.h"
#include "guest_memory.h"
#include "job_ram.h"
#include "mmu.h"
#include "tensor_engine.h"

namespace ai0::npu {

class ControlCore {
public:
    struct Pins {
        int doorbell_ctrl;
        int doorbell_job;
        std::array<int, NPU_VECTORS> interrupts;
    };

    ControlCore(const Bar2& bar, Board& board, GuestMemory& memory, Mmu& mmu, JobRam& job_ram,
                TensorEngine& engine, CompileUnit& compiler, DoneFifo& done, const Pins& pins);
    ~ControlCore();
    ControlCore(const ControlCore&) = delete;
    ControlCore& operator=(const ControlCore&) = delete;

    void start(const BootResult& image, BusAddress config);

    /* Every NPU_HEARTBEAT_MS: wakes the firmware and looks whether it still feeds the watchdog. */
    void tick();

    /* Send the core to an address without memory, or into an endless loop. */
    void inject_crash() { inject(Injection::kCrash); }
    void inject_wedge() { inject(Injection::kWedge); }

private:
    enum class Injection : std::uint32_t { kNone, kCrash, kWedge };
    enum class Verdict { kGoOn, kStop };

    struct CloseCore {
        void operator()(uc_engine* core) const { uc_close(core); }
    };

    static std::uint64_t mmio_read(uc_engine*, std::uint64_t offset, unsigned size, void* self);
    static void mmio_write(uc_engine*, std::uint64_t offset, unsigned size, std::uint64_t value,
                           void* self);
    static void interrupt(uc_engine*, std::uint32_t cause, void* self);

    void inject(Injection what);
    bool build(const BootResult& image);
    void thread();
    void wait_for_events();
    Verdict run();
    void crash(std::uint32_t cause);
    std::uint64_t program_counter() const;

    std::uint32_t read_register(std::uint32_t reg);
    void write_register(std::uint32_t reg, std::uint32_t value);
    std::uint32_t take_pending();
    void set_state(std::uint32_t state);
    void raise(std::uint32_t vector);
    std::span<std::byte> local(std::uint64_t address, std::uint64_t bytes);
    std::uint32_t dma(std::uint32_t op);
    void mmu_go(std::uint32_t op);
    void job_go(std::uint32_t op);
    void compile_go(std::uint32_t op);

    const Bar2& bar_;
    Board& board_;
    GuestMemory& memory_;
    Mmu& mmu_;
    JobRam& job_ram_;
    TensorEngine& engine_;
    CompileUnit& compiler_;
    DoneFifo& done_;
    const Pins pins_;

    Mapping sram_ = Mapping::anonymous(NPU_CORE_SRAM_BYTES);
    Mapping trap_rom_ = Mapping::anonymous(NPU_CORE_TRAP_ROM_BYTES);
    std::unique_ptr<uc_engine, CloseCore> core_;
    UniqueFd tick_event_ = event_make();
    std::thread thread_;

    /* Of the thread of the core alone. */
    std::array<std::uint32_t, NPU_CORE_MMIO_BYTES / 4> registers_{};
    std::uint32_t pending_ = 0;
    std::uint64_t pc_ = 0;
    std::uint64_t config_ = 0;
    std::uint64_t begin_ns_ = 0;
    std::uint32_t trap_ = 0; /* exception code */
    bool waiting_ = false;
    bool halted_ = false;
    bool trapped_ = false;
    Done last_done_{};

    std::atomic<Injection> injection_{Injection::kNone};
    std::atomic<bool> ticked_{false};
    std::atomic<bool> running_{false};
    std::atomic<bool> stop_{false};
    std::atomic<bool> bitten_{false}; /* by the watchdog */
    std::atomic<std::uint64_t> fed_cpu_ns_{0};
    std::atomic<std::uint32_t> ticks_unfed_{0};
};

} // namespace ai0::npu
