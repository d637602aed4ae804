// SPDX-License-Identifier: GPL-2.0-only
#include "slot.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <vector>

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "silicon.h"
#include "thermal.h"

namespace ai0::npu {

Slot::Slot(const Config& config)
    : config_(config), bar_(config.bar_bytes), server_(config.socket_path),
      control_(config.control_path)
{
}

Slot::~Slot()
{
    kill_silicon();
}

bool Slot::set_up()
{
    sigset_t set;

    if (!log_open(config_.log_path)) {
        std::cerr << "ai-npu-model: the log " << config_.log_path << " cannot be opened ("
                  << errno_text(errno) << ")\n";
        return false;
    }
    if (!bar_ || !board_) {
        std::cerr << "ai-npu-model: " << config_.bar_bytes
                  << " bytes of shared memory could not be had\n";
        return false;
    }
    if (!server_ || !control_) {
        std::cerr << "ai-npu-model: the sockets " << config_.socket_path << " and "
                  << config_.control_path
                  << " could not be made; needed are two paths in a folder that can be written\n";
        return false;
    }
    board_->ambient_mc = static_cast<std::int32_t>(config_.ambient_c * 1000);
    board_->temp_c = config_.ambient_c;
    board_->heat_time_ns = now_ns();

    ::sigemptyset(&set);
    for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD})
        ::sigaddset(&set, signal);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signals_ = UniqueFd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    return static_cast<bool>(signals_);
}

int Slot::run()
{
    if (!set_up())
        return 1;
    power_cycle();

    for (bool end = false; !end;) {
        std::vector<pollfd> fds = {
            {signals_.get(), POLLIN, 0},
            {server_.client() < 0 ? server_.listener() : server_.client(), POLLIN, 0},
            {server_.doorbell(NPU_DB_RESET), POLLIN, 0},
            {server_.doorbell(NPU_DB_POWER), POLLIN, 0},
            {channel_.get(), POLLIN, 0},
        };
        control_.add_to(fds);
        if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR)
            break;

        if (fds[0].revents)
            take_signals(end);
        if (fds[1].revents) {
            if (server_.client() < 0)
                server_.accept(bar_.fd());
            else if (!server_.client_alive())
                end = true;
        }
        if (channel_ && fds[4].fd == channel_.get() && fds[4].revents)
            silicon_ready();
        if (event_take(server_.doorbell(NPU_DB_POWER)))
            power_cycle();
        if (event_take(server_.doorbell(NPU_DB_RESET)))
            reset_doorbell();
        control_.serve(*this);
    }
    log_line("the slot ends");
    return failed_ ? 1 : 0;
}

void Slot::take_signals(bool& end)
{
    signalfd_siginfo info{};

    while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo != SIGCHLD) {
            end = true;
            continue;
        }
        int status = 0;
        if (silicon_ > 0 && ::waitpid(silicon_, &status, WNOHANG) == silicon_) {
            silicon_ = 0;
            silicon_died();
            if (!announced_) {
                std::cerr << "ai-npu-model: the silicon did not start; the log " << config_.log_path
                          << " says why\n";
                failed_ = end = true;
            }
        }
    }
}

void Slot::set_state(npu_state state)
{
    board_->state = state;
    bar_.set(&npu_regs::state, __u32{state});
    event_raise(server_.interrupt(NPU_IRQ_EVENT));
}

/* ---- the silicon ---- */

bool Slot::fork_silicon()
{
    int ends[2];

    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return false;
    UniqueFd ours(ends[0]), theirs(ends[1]);
    pid_t slot = ::getpid();

    board_->silicon_gone();
    ready_ = false;
    silicon_ = ::fork();
    if (silicon_ < 0) {
        silicon_ = 0;
        log_line("no process could be had for the silicon: " + errno_text(errno));
        return false;
    }
    if (silicon_ > 0) {
        channel_ = std::move(ours);
        return true;
    }

    /* In the silicon. It ends with the slot, which may have ended this moment. */
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, "ai-npu-silicon");
    if (::getppid() != slot)
        ::_exit(0);
    ours.reset();
    channel_.reset();
    signals_.reset();
    server_.drop_sockets();
    control_.drop();
    sigset_t none;
    ::sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    run_silicon(config_, bar_, *board_, server_, theirs.get());
}

/* When this returns, the silicon does not touch memory any more. */
void Slot::kill_silicon()
{
    if (silicon_ > 0) {
        ::kill(silicon_, SIGKILL);
        while (::waitpid(silicon_, nullptr, 0) < 0 && errno == EINTR)
            ;
    }
    silicon_ = 0;
    channel_.reset();
    ready_ = false;
}

void Slot::silicon_died()
{
    log_line("the silicon is dead");
    channel_.reset();
    ready_ = false;
    board_->silicon_gone();
    bar_.set(&npu_regs::power_mw, __u32{0});
    bar_.set(&npu_regs::clock_mhz, __u32{0});
    set_state(NPU_STATE_OFF);
}

void Slot::silicon_ready()
{
    char byte;

    if (::recv(channel_.get(), &byte, sizeof(byte), MSG_DONTWAIT) != sizeof(byte))
        return;
    ready_ = true;
    if (count_power_on_)
        bar_.set(&npu_regs::power_on_count, ++power_on_count_);
    count_power_on_ = false;
    if (acknowledge_)
        bar_.set(&npu_regs::reset_ack, *acknowledge_);
    acknowledge_.reset();
    if (boot_)
        send(SlotMessage::kBoot, *boot_);
    boot_.reset();
    if (!announced_) {
        std::cout << "ready" << std::endl;
        announced_ = true;
    }
}

void Slot::power_cycle()
{
    kill_silicon();
    board_->silicon_gone();
    acknowledge_.reset();
    boot_.reset();
    set_state(NPU_STATE_OFF);
    if (broken_) {
        log_line("the power switch is pressed, but the silicon is broken");
        return;
    }
    log_line("power on");
    board_->energy_uj = 0;
    board_->ecc_errors = 0;
    /* Rung for a silicon that is not there any more. */
    event_take(server_.doorbell(NPU_DB_CTRL));
    event_take(server_.doorbell(NPU_DB_JOB));
    count_power_on_ = fork_silicon();
}

void Slot::reset_to_rom()
{
    log_line("reset to ROM");
    kill_silicon();
    event_take(server_.doorbell(NPU_DB_CTRL));
    event_take(server_.doorbell(NPU_DB_JOB));
    if (!fork_silicon())
        silicon_died();
}

void Slot::reset_doorbell()
{
    std::uint32_t reset = bar_.get(&npu_regs::reset);
    std::uint32_t sequence = bar_.get(&npu_regs::reset_seq);

    /* Without power there is nothing to be reset, and no answer. */
    if (silicon_ <= 0)
        return;
    switch (reset) {
    case NPU_RESET_ROM:
        boot_.reset();
        acknowledge_ = sequence;
        reset_to_rom();
        break;
    case NPU_RESET_BOOT:
        if (ready_ && !board_->core_started) {
            send(SlotMessage::kBoot, sequence);
            break;
        }
        /* From any other state the way to a boot leads through the ROM. */
        boot_ = sequence;
        if (ready_)
            reset_to_rom();
        break;
    case NPU_RESET_ENGINE:
        if (ready_)
            send(SlotMessage::kEngineReset, sequence);
        break;
    default:
        log_line("reset " + std::to_string(reset) + " is not known");
    }
}

bool Slot::send(SlotMessage kind, std::uint32_t argument)
{
    ChannelMessage message{static_cast<std::uint32_t>(kind), argument};

    return channel_ && ::send(channel_.get(), &message, sizeof(message),
                              MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(message);
}

} // namespace ai0::npu
