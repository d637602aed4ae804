// SPDX-License-Identifier: GPL-2.0-only
#include "silicon.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "boot_rom.h"
#include "compile_cache.h"
#include "compile_unit.h"
#include "control_core.h"
#include "engine_error.h"
#include "guest_memory.h"
#include "log.h"
#include "mmu.h"
#include "tensor_engine.h"
#include "thermal.h"

namespace ai0::npu {

namespace {

/* A firmware that is not running by then is not coming up. */
constexpr unsigned kHandshakeTicks = 30;

/* Models are programs of strangers: they may not use up the memory of the host. */
void limit_memory()
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    /* The shadow of all addresses would count. */
    return;
#endif
    auto physical = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                    static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    /* The emulator of the control core reserves an address range that it does not use. */
    constexpr std::uint64_t kReserved = 1ULL << 30;
    std::uint64_t most = physical / 4 * 3 + kReserved;
    rlimit limit{most, most};

    ::setrlimit(RLIMIT_DATA, &limit);
}

void engine_log(void*, OrtLoggingLevel, const char*, const char*, const char*, const char* message)
{
    log_line("engine: " + engine_sentence(message));
}

/* One pool of threads for all models, which sleep when there is nothing to do. */
Ort::Env make_environment(const Profile& profile)
{
    unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    Ort::ThreadingOptions threads;

    threads.SetGlobalIntraOpNumThreads(static_cast<int>(std::min(profile.threads, cores)));
    threads.SetGlobalInterOpNumThreads(1);
    threads.SetGlobalSpinControl(0);
    Ort::Env environment(static_cast<const OrtThreadingOptions*>(threads), engine_log, nullptr,
                         ORT_LOGGING_LEVEL_ERROR, "ai0-npu");

    /*
     * One memory for all models, which grows by what is asked for. Left to itself
     * the engine doubles, and goes on asking for too much once a model has.
     */
    constexpr int kAsRequested = 1;
    Ort::ArenaCfg growth(0, kAsRequested, -1, -1);
    environment.CreateAndRegisterAllocator(
        Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault), growth);
    return environment;
}

class Silicon {
public:
    Silicon(const Config& config, const Bar2& bar, Board& board, const IvshmemServer& wires,
            int channel)
        : profile_(*config.profile), bar_(bar), board_(board), channel_(channel),
          event_irq_(wires.interrupt(NPU_IRQ_EVENT)),
          memory_(config.ram_path, config.ram_bytes, config.ram_lowmem),
          environment_(make_environment(profile_)), cache_(config.cache_dir, board),
          mmu_(memory_, bar, board, done_), thermal_(profile_, bar, board),
          compiler_(environment_, mmu_, cache_, job_ram_, board, done_),
          engine_(profile_, mmu_, compiler_, job_ram_, thermal_, board, done_),
          core_(bar, board, memory_, mmu_, job_ram_, engine_, compiler_, done_, pins(wires)),
          timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC))
    {
        std::string error;

        key_ = Key::read_public(config.key_path, error);
        if (!key_)
            log_line(error);
    }

    [[noreturn]] void run()
    {
        constexpr long kNs = NPU_HEARTBEAT_MS * 1000000L;
        itimerspec period{{0, kNs}, {0, kNs}};
        const char ready = 'r';

        ::timerfd_settime(timer_.get(), 0, &period, nullptr);
        power_on();
        if (::send(channel_, &ready, sizeof(ready), MSG_NOSIGNAL) != sizeof(ready))
            ::_exit(0);
        for (;;) {
            pollfd fds[] = {{channel_, POLLIN, 0}, {timer_.get(), POLLIN, 0}};
            ::poll(fds, std::size(fds), -1);
            if (fds[0].revents)
                receive();
            if (event_take(timer_.get()))
                tick();
        }
    }

private:
    static ControlCore::Pins pins(const IvshmemServer& wires)
    {
        ControlCore::Pins pins{wires.doorbell(NPU_DB_CTRL), wires.doorbell(NPU_DB_JOB), {}};

        for (unsigned i = 0; i < NPU_VECTORS; i++)
            pins.interrupts[i] = wires.interrupt(i);
        return pins;
    }

    void set_state(npu_state state)
    {
        board_.state = state;
        bar_.set(&npu_regs::state, __u32{state});
        event_raise(event_irq_);
    }

    /* Everything that the driver may rely on is there before the state says so. */
    void power_on()
    {
        bar_.set(&npu_regs::magic, __u32{NPU_MAGIC});
        bar_.set(&npu_regs::rom_abi, NPU_ABI_VERSION);
        bar_.set(&npu_regs::profile, __u32{profile_.id});
        bar_.set(&npu_regs::load_offset, __u64{kLoadOffset});
        bar_.set(&npu_regs::load_bytes, __u64{kLoadBytes});
        bar_.set(&npu_regs::log_offset, __u64{kLogOffset});
        bar_.set(&npu_regs::log_bytes, __u64{kLogBytes});
        bar_.set(&npu_regs::mem_offset, __u64{kMemOffset});
        bar_.set(&npu_regs::mem_bytes, __u64{bar_.mem_bytes()});
        bar_.set(&npu_regs::boot_error, __u32{NPU_BOOT_OK});
        bar_.set(&npu_regs::boot_found, __u32{0});
        bar_.set(&npu_regs::boot_needed, __u32{0});
        bar_.set(&npu_regs::fw_version, __u32{0});
        bar_.set(&npu_regs::fw_abi, __u32{0});
        bar_.set(&npu_regs::heartbeat, __u32{0});
        bar_.set(&npu_regs::crash_cause, __u32{0});
        bar_.set(&npu_regs::crash_pc, __u64{0});
        bar_.set_product(profile_.product);
        bar_.set_engine(CompileUnit::engine_name());
        set_state(NPU_STATE_ROM);
    }

    void receive()
    {
        ChannelMessage message{};
        ssize_t n = ::recv(channel_, &message, sizeof(message), MSG_DONTWAIT);

        if (n == 0)
            ::_exit(0);
        if (n != sizeof(message))
            return;
        switch (static_cast<SlotMessage>(message.kind)) {
        case SlotMessage::kBoot:
            boot(message.argument);
            break;
        case SlotMessage::kEngineReset:
            reset_pending_ = true;
            reset_seq_ = message.argument;
            resets_before_ = engine_.resets_done();
            engine_.reset();
            acknowledge_engine_reset();
            break;
        case SlotMessage::kCrash:
            core_.inject_crash();
            break;
        case SlotMessage::kWedge:
            core_.inject_wedge();
            break;
        case SlotMessage::kEccCorrected:
            board_.ecc_errors++;
            bar_.set(&npu_regs::ecc_errors, board_.ecc_errors.load());
            event_raise(event_irq_);
            break;
        case SlotMessage::kSensors:
            sensors();
            break;
        }
    }

    void boot(std::uint32_t sequence)
    {
        set_state(NPU_STATE_BOOTING);
        BootResult image = boot_rom_check(bar_.load(), bar_.get(&npu_regs::image_bytes),
                                          profile_.id, key_ ? &*key_ : nullptr);

        if (std::uint32_t wanted = board_.boot_fail.exchange(0)) {
            image.error = static_cast<npu_boot_error>(wanted);
            image.found = 0;
            image.needed = 0;
        }
        bar_.set(&npu_regs::boot_error, __u32{image.error});
        bar_.set(&npu_regs::boot_found, image.found);
        bar_.set(&npu_regs::boot_needed, image.needed);
        if (image.error != NPU_BOOT_OK) {
            log_line("the boot ROM refused an image with error " + std::to_string(image.error));
            set_state(NPU_STATE_BOOT_FAILED);
        } else {
            handshake_ticks_ = 0;
            core_.start(image, BusAddress{bar_.get(&npu_regs::config_addr)});
        }
        bar_.set(&npu_regs::reset_ack, sequence);
    }

    /* A reset that did not work is not acknowledged: the driver takes the next rung. */
    void acknowledge_engine_reset()
    {
        if (!reset_pending_ || engine_.resets_done() == resets_before_)
            return;
        reset_pending_ = false;
        if (engine_.last_reset_worked())
            bar_.set(&npu_regs::reset_ack, reset_seq_);
    }

    void sensors()
    {
        if (thermal_.update(engine_.take_busy_ns()))
            event_raise(event_irq_);
    }

    void tick()
    {
        sensors();
        engine_.tick();
        acknowledge_engine_reset();
        core_.tick();
        if (board_.state == NPU_STATE_BOOTING && board_.core_started &&
            ++handshake_ticks_ > kHandshakeTicks) {
            bar_.set(&npu_regs::boot_error, __u32{NPU_BOOT_HANDSHAKE});
            set_state(NPU_STATE_BOOT_FAILED);
        }
    }

    const Profile& profile_;
    const Bar2& bar_;
    Board& board_;
    const int channel_;
    const int event_irq_;

    std::optional<Key> key_;
    DoneFifo done_;
    JobRam job_ram_;
    GuestMemory memory_;
    Ort::Env environment_;
    CompileCache cache_;
    Mmu mmu_;
    Thermal thermal_;
    CompileUnit compiler_;
    TensorEngine engine_;
    ControlCore core_;
    UniqueFd timer_;

    bool reset_pending_ = false;
    std::uint32_t reset_seq_ = 0;
    std::uint32_t resets_before_ = 0;
    unsigned handshake_ticks_ = 0;
};

} // namespace

void run_silicon(const Config& config, const Bar2& bar, Board& board, const IvshmemServer& wires,
                 int channel)
{
    log_name("silicon");
    limit_memory();
    try {
        Silicon(config, bar, board, wires, channel).run();
    } catch (const std::exception& error) {
        log_line(std::string("the silicon could not be powered: ") + error.what());
    }
    ::_exit(1);
}

} // namespace ai0::npu
