// SPDX-License-Identifier: GPL-2.0-only
#include "control_core.h"

#include <cstring>

#include <poll.h>
#include <pthread.h>

#include "clock.h"
#include "log.h"

namespace ai0::npu {

namespace {

/* RISC-V exception codes. */
constexpr std::uint32_t kFetchFault = 1;
constexpr std::uint32_t kIllegalInstruction = 2;
constexpr std::uint32_t kLoadFault = 5;
constexpr std::uint32_t kStoreFault = 7;
constexpr std::uint32_t kEcallUser = 8;
constexpr std::uint32_t kEcallMachine = 11;

constexpr std::uint32_t kJumpToSelf = 0x0000006f;
/* Where nothing is, and nothing will be. */
constexpr std::uint64_t kNowhere = 0;

/*
 * Running time without food after which the watchdog bites. It is the core's own
 * time, so that a busy host does not look like a hung firmware; a core that is
 * not even woken is caught by the count of ticks.
 */
constexpr std::uint64_t kWatchdogNs = 1000000000;
constexpr std::uint32_t kWatchdogTicks = 100;

constexpr std::uint32_t index_of(std::uint32_t reg)
{
    return reg / 4;
}

std::uint64_t thread_cpu_ns(pthread_t thread)
{
    clockid_t clock;
    timespec time{};

    if (::pthread_getcpuclockid(thread, &clock) || ::clock_gettime(clock, &time))
        return 0;
    return static_cast<std::uint64_t>(time.tv_sec) * 1000000000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint32_t cause_of(uc_err error)
{
    switch (error) {
    case UC_ERR_READ_UNMAPPED:
    case UC_ERR_READ_PROT:
    case UC_ERR_READ_UNALIGNED:
        return kLoadFault;
    case UC_ERR_WRITE_UNMAPPED:
    case UC_ERR_WRITE_PROT:
    case UC_ERR_WRITE_UNALIGNED:
        return kStoreFault;
    case UC_ERR_FETCH_UNMAPPED:
    case UC_ERR_FETCH_PROT:
    case UC_ERR_FETCH_UNALIGNED:
        return kFetchFault;
    default:
        return kIllegalInstruction;
    }
}

} // namespace

ControlCore::ControlCore(const Bar2& bar, Board& board, GuestMemory& memory, Mmu& mmu,
                         JobRam& job_ram, TensorEngine& engine, CompileUnit& compiler,
                         DoneFifo& done, const Pins& pins)
    : bar_(bar), board_(board), memory_(memory), mmu_(mmu), job_ram_(job_ram), engine_(engine),
      compiler_(compiler), done_(done), pins_(pins)
{
}

ControlCore::~ControlCore()
{
    stop_ = true;
    event_raise(tick_event_.get());
    if (core_)
        uc_emu_stop(core_.get());
    if (thread_.joinable())
        thread_.join();
}

/* ---- starting ---- */

bool ControlCore::build(const BootResult& image)
{
    uc_engine* core = nullptr;
    uc_hook hook;

    if (!sram_ || !trap_rom_ || uc_open(UC_ARCH_RISCV, UC_MODE_RISCV64, &core))
        return false;
    core_.reset(core);

    std::memcpy(sram_.data() + (image.load_addr - NPU_CORE_SRAM), image.code.data(),
                image.code.size());
    std::memcpy(trap_rom_.data(), &kJumpToSelf, sizeof(kJumpToSelf));

    auto map = [&](std::uint64_t address, std::span<std::byte> bytes, std::uint32_t prot) {
        return uc_mem_map_ptr(core, address, bytes.size(), prot, bytes.data()) == UC_ERR_OK;
    };
    /* A hook takes its callback as a pointer to data, which is what its interface says. */
    return map(NPU_CORE_SRAM, sram_.bytes(), UC_PROT_ALL) &&
           map(NPU_CORE_TRAP_ROM, trap_rom_.bytes(), UC_PROT_READ | UC_PROT_EXEC) &&
           map(NPU_CORE_LOG, bar_.log(), UC_PROT_READ | UC_PROT_WRITE) &&
           map(NPU_CORE_JOB_RAM, job_ram_.jobs(), UC_PROT_READ | UC_PROT_WRITE) &&
           map(NPU_CORE_INFO_RAM, job_ram_.infos(), UC_PROT_READ | UC_PROT_WRITE) &&
           uc_mmio_map(core, NPU_CORE_MMIO, NPU_CORE_MMIO_BYTES, mmio_read, this, mmio_write,
                       this) == UC_ERR_OK &&
           uc_hook_add(core, &hook, UC_HOOK_INTR, reinterpret_cast<void*>(interrupt), this, 1, 0) ==
               UC_ERR_OK;
}

void ControlCore::start(const BootResult& image, BusAddress config)
{
    config_ = raw(config);
    pc_ = image.entry;
    begin_ns_ = now_ns();
    board_.core_started = true;
    if (!build(image)) {
        log_line("the emulator of the control core could not be set up");
        bar_.set(&npu_regs::boot_error, __u32{NPU_BOOT_HANDSHAKE});
        set_state(NPU_STATE_BOOT_FAILED);
        return;
    }
    running_ = true;
    thread_ = std::thread([this] { thread(); });
}

/* ---- running ---- */

void ControlCore::thread()
{
    while (!stop_) {
        Verdict verdict = run();

        if (verdict == Verdict::kStop)
            break;
        wait_for_events();
    }
    running_ = false;
}

/* Runs until the firmware waits and nothing is pending. */
ControlCore::Verdict ControlCore::run()
{
    for (;;) {
        Injection injection = injection_.exchange(Injection::kNone);
        if (injection == Injection::kCrash)
            pc_ = kNowhere;
        else if (injection == Injection::kWedge)
            pc_ = NPU_CORE_TRAP_ROM;

        waiting_ = false;
        uc_err error = uc_emu_start(core_.get(), pc_, ~0ULL, 0, 0);
        pc_ = program_counter();

        if (bitten_) {
            crash(NPU_CRASH_WATCHDOG);
            return Verdict::kStop;
        }
        if (stop_ || halted_)
            return Verdict::kStop;
        if (error != UC_ERR_OK || trapped_) {
            crash(error != UC_ERR_OK ? cause_of(error) : trap_);
            return Verdict::kStop;
        }
        if (waiting_ && !pending_ && done_.empty() && !ticked_ && injection_ == Injection::kNone)
            return Verdict::kGoOn;
    }
}

void ControlCore::wait_for_events()
{
    pollfd fds[] = {
        {pins_.doorbell_ctrl, POLLIN, 0},
        {pins_.doorbell_job, POLLIN, 0},
        {done_.event(), POLLIN, 0},
        {tick_event_.get(), POLLIN, 0},
    };

    ::poll(fds, std::size(fds), -1);
    if (event_take(pins_.doorbell_ctrl))
        pending_ |= NPU_PENDING_CTRL;
    if (event_take(pins_.doorbell_job))
        pending_ |= NPU_PENDING_JOB;
    event_take(done_.event());
    event_take(tick_event_.get());
}

std::uint64_t ControlCore::program_counter() const
{
    std::uint64_t pc = 0;

    uc_reg_read(core_.get(), UC_RISCV_REG_PC, &pc);
    return pc;
}

/* Stopping is safe here, and only here: inside a register access it would lose the pc. */
void ControlCore::interrupt(uc_engine* engine, std::uint32_t cause, void* user)
{
    auto& self = *static_cast<ControlCore*>(user);
    std::uint64_t call = 0;

    if (cause >= kEcallUser && cause <= kEcallMachine) {
        uc_reg_read(engine, UC_RISCV_REG_A7, &call);
        self.waiting_ = call == NPU_ECALL_WAIT;
        self.halted_ = call == NPU_ECALL_HALT;
        if (!self.waiting_ && !self.halted_) {
            self.trapped_ = true;
            self.trap_ = cause;
        }
    } else {
        self.trapped_ = true;
        self.trap_ = cause;
    }
    uc_emu_stop(engine);
}

void ControlCore::crash(std::uint32_t cause)
{
    log_line("the firmware crashed: cause " + std::to_string(cause) + ", pc " +
             std::to_string(pc_));
    bar_.set(&npu_regs::crash_cause, cause);
    bar_.set(&npu_regs::crash_pc, __u64{pc_});
    set_state(NPU_STATE_CRASHED);
}

void ControlCore::set_state(std::uint32_t state)
{
    board_.state = state;
    bar_.set(&npu_regs::state, state);
    raise(NPU_IRQ_EVENT);
}

void ControlCore::raise(std::uint32_t vector)
{
    if (vector < pins_.interrupts.size())
        event_raise(pins_.interrupts[vector]);
}

void ControlCore::inject(Injection what)
{
    injection_ = what;
    event_raise(tick_event_.get());
}

void ControlCore::tick()
{
    if (!running_)
        return;
    ticked_ = true;
    event_raise(tick_event_.get());

    if (bitten_) {
        /* Once more, in case it was not in the emulator at that moment. */
        uc_emu_stop(core_.get());
        return;
    }
    std::uint64_t cpu = thread_cpu_ns(thread_.native_handle());
    if (++ticks_unfed_ > kWatchdogTicks || cpu > fed_cpu_ns_ + kWatchdogNs) {
        bitten_ = true;
        uc_emu_stop(core_.get());
        event_raise(tick_event_.get());
    }
}

/* ---- registers ---- */

std::uint64_t ControlCore::mmio_read(uc_engine*, std::uint64_t offset, unsigned size, void* self)
{
    if (size != 4 || offset % 4 || offset >= NPU_CORE_MMIO_BYTES)
        return 0;
    return static_cast<ControlCore*>(self)->read_register(static_cast<std::uint32_t>(offset));
}

void ControlCore::mmio_write(uc_engine*, std::uint64_t offset, unsigned size, std::uint64_t value,
                             void* self)
{
    if (size != 4 || offset % 4 || offset >= NPU_CORE_MMIO_BYTES)
        return;
    static_cast<ControlCore*>(self)->write_register(static_cast<std::uint32_t>(offset),
                                                    static_cast<std::uint32_t>(value));
}

std::uint32_t ControlCore::take_pending()
{
    std::uint32_t pending = std::exchange(pending_, 0);

    if (!done_.empty())
        pending |= NPU_PENDING_DONE;
    if (ticked_.exchange(false))
        pending |= NPU_PENDING_TICK;
    return pending;
}

std::uint32_t ControlCore::read_register(std::uint32_t reg)
{
    switch (reg) {
    case NPU_SYS_PENDING:
        return take_pending();
    case NPU_SYS_CONFIG_LO:
        return static_cast<std::uint32_t>(config_);
    case NPU_SYS_CONFIG_HI:
        return static_cast<std::uint32_t>(config_ >> 32);
    case NPU_SYS_TIME_LO:
        return static_cast<std::uint32_t>((now_ns() - begin_ns_) / 1000000);
    case NPU_SYS_DONE_UNIT: {
        std::optional<Done> done = done_.pop();
        if (!done)
            return NPU_UNIT_NONE;
        last_done_ = *done;
        return last_done_.unit;
    }
    case NPU_SYS_DONE_SLOT:
        return last_done_.slot;
    case NPU_SYS_DONE_STATUS:
        return last_done_.status;
    default:
        return registers_[index_of(reg)];
    }
}

void ControlCore::write_register(std::uint32_t reg, std::uint32_t value)
{
    registers_[index_of(reg)] = value;
    switch (reg) {
    case NPU_SYS_IRQ:
        raise(value);
        break;
    case NPU_SYS_WATCHDOG:
        fed_cpu_ns_ = thread_cpu_ns(::pthread_self());
        ticks_unfed_ = 0;
        break;
    case NPU_SYS_HEARTBEAT:
        bar_.set(&npu_regs::heartbeat, value);
        break;
    case NPU_SYS_STATE:
        if (value == NPU_STATE_RUNNING || value == NPU_STATE_BOOT_FAILED)
            set_state(value);
        break;
    case NPU_SYS_BOOT_ERROR:
        bar_.set(&npu_regs::boot_error, value);
        break;
    case NPU_SYS_BOOT_FOUND:
        bar_.set(&npu_regs::boot_found, value);
        break;
    case NPU_SYS_BOOT_NEEDED:
        bar_.set(&npu_regs::boot_needed, value);
        break;
    case NPU_SYS_FW_VERSION:
        bar_.set(&npu_regs::fw_version, value);
        compiler_.set_firmware_version(value);
        break;
    case NPU_SYS_FW_ABI:
        bar_.set(&npu_regs::fw_abi, value);
        break;
    case NPU_DMA_GO:
        registers_[index_of(NPU_DMA_STATUS)] = dma(value);
        break;
    case NPU_MMU_GO:
        mmu_go(value);
        break;
    case NPU_JOB_GO:
        job_go(value);
        break;
    case NPU_COMPILE_GO:
        compile_go(value);
        break;
    default:
        break;
    }
}

/* ---- units ---- */

std::span<std::byte> ControlCore::local(std::uint64_t address, std::uint64_t bytes)
{
    auto inside = [&](std::uint64_t base, std::span<std::byte> memory) -> std::span<std::byte> {
        if (address < base || address - base > memory.size() ||
            bytes > memory.size() - (address - base))
            return {};
        return memory.subspan(address - base, bytes);
    };
    std::span<std::byte> found = inside(NPU_CORE_SRAM, sram_.bytes());

    if (found.empty())
        found = inside(NPU_CORE_JOB_RAM, job_ram_.jobs());
    if (found.empty())
        found = inside(NPU_CORE_INFO_RAM, job_ram_.infos());
    return found;
}

/* Not the firmware's doing: what a device with a defect, or a hostile one, might write. */
static void corrupt(npu_cpl& completion)
{
    completion.tag ^= 0x5a5a5a5a5a5a5a5a;
    completion.op = 0xdead;
    completion.status = 0xbad0bad;
    completion.value = ~0ULL;
}

std::uint32_t ControlCore::dma(std::uint32_t op)
{
    auto pair = [&](std::uint32_t reg) {
        return registers_[index_of(reg)] | static_cast<std::uint64_t>(registers_[index_of(reg) + 1])
                                               << 32;
    };
    BusAddress bus{pair(NPU_DMA_BUS_LO)};
    std::uint32_t bytes = registers_[index_of(NPU_DMA_BYTES)];
    std::span<std::byte> core = local(registers_[index_of(NPU_DMA_LOCAL)], bytes);

    switch (op) {
    case NPU_DMA_CHECK:
        return memory_.window(bus, bytes).empty();
    case NPU_DMA_READ:
        return core.empty() || !memory_.read(bus, core);
    case NPU_DMA_WRITE:
        if (bytes == sizeof(npu_cpl) && !core.empty() && take(board_.corrupt_completion)) {
            npu_cpl wild;
            std::memcpy(&wild, core.data(), sizeof(wild));
            corrupt(wild);
            return !memory_.write(bus, std::as_bytes(std::span(&wild, 1)));
        }
        return core.empty() || !memory_.write(bus, core);
    default:
        return 1;
    }
}

void ControlCore::mmu_go(std::uint32_t op)
{
    auto pair = [&](std::uint32_t reg) {
        return registers_[index_of(reg)] | static_cast<std::uint64_t>(registers_[index_of(reg) + 1])
                                               << 32;
    };
    std::uint32_t asid = registers_[index_of(NPU_MMU_ASID)];
    std::uint32_t slot = registers_[index_of(NPU_MMU_SLOT)];
    std::uint64_t arg0 = pair(NPU_MMU_ARG0_LO), arg1 = pair(NPU_MMU_ARG1_LO);
    npu_status status = NPU_ST_BAD_COMMAND;

    switch (op) {
    case NPU_MMU_OP_CREATE:
        status = mmu_.create(asid, BusAddress{arg0});
        break;
    case NPU_MMU_OP_DESTROY:
        status = mmu_.destroy(asid, slot);
        break;
    case NPU_MMU_OP_INVALIDATE:
        status = mmu_.invalidate(asid, DeviceAddress{arg0}, arg1, slot);
        break;
    default:
        break;
    }
    registers_[index_of(NPU_MMU_STATUS)] = status;
}

void ControlCore::job_go(std::uint32_t op)
{
    std::uint32_t slot = registers_[index_of(NPU_JOB_SLOT)];

    switch (op) {
    case NPU_JOB_OP_START:
        engine_.start(slot);
        break;
    case NPU_JOB_OP_ABORT:
        engine_.abort(slot);
        break;
    case NPU_JOB_OP_ENGINE_RESET:
        engine_.reset();
        break;
    default:
        break;
    }
}

void ControlCore::compile_go(std::uint32_t op)
{
    auto pair = [&](std::uint32_t reg) {
        return registers_[index_of(reg)] | static_cast<std::uint64_t>(registers_[index_of(reg) + 1])
                                               << 32;
    };
    std::uint32_t slot = registers_[index_of(NPU_COMPILE_SLOT)];
    std::uint64_t model = pair(NPU_COMPILE_MODEL_LO);

    if (op == NPU_COMPILE_OP_LOAD)
        compiler_.load(slot, model, DeviceAddress{pair(NPU_COMPILE_ADDR_LO)},
                       registers_[index_of(NPU_COMPILE_BYTES)]);
    else if (op == NPU_COMPILE_OP_UNLOAD)
        compiler_.unload(slot, model);
}

} // namespace ai0::npu
