// SPDX-License-Identifier: GPL-2.0-only
#include "host.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

// The test has one thread.
// NOLINTBEGIN(concurrency-mt-unsafe)

namespace ai0::test {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kHighBase = 4ULL << 30;

[[noreturn]] void give_up(const std::string& what)
{
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

std::string path_from(const char* variable, const char* fallback)
{
    const char* value = std::getenv(variable);
    return value ? value : fallback;
}

std::span<std::byte> map_file(int fd, std::uint64_t bytes)
{
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        give_up("mmap");
    return {static_cast<std::byte*>(at), bytes};
}

int connect_unix(const fs::path& path)
{
    sockaddr_un address{};
    int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)))
        give_up("connect to " + path.string());
    return fd;
}

std::int64_t receive(int socket, int& fd)
{
    std::int64_t value = 0;
    iovec data{&value, sizeof(value)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};

    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    fd = -1;
    if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != sizeof(value))
        give_up("recvmsg");
    if (cmsghdr* header = CMSG_FIRSTHDR(&message))
        std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    return value;
}

} // namespace

void Host::pause()
{
    std::this_thread::sleep_for(std::chrono::microseconds(500));
}

Host::Host(HostOptions options) : options_(std::move(options))
{
    char pattern[] = "/tmp/ai0-npu-test-XXXXXX";
    if (!::mkdtemp(pattern))
        give_up("mkdtemp");
    folder_ = pattern;
    cache_ = options_.cache.empty() ? folder_ / "cache" : options_.cache;

    start_process();
    ram_fd_ = ::open((folder_ / "ram").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (ram_fd_ < 0 || ::ftruncate(ram_fd_, static_cast<off_t>(options_.ram_bytes)))
        give_up("guest memory");
    ram_ = map_file(ram_fd_, options_.ram_bytes);
    connect();
    if (!wait_state(NPU_STATE_ROM))
        throw std::runtime_error("the device is not in its boot ROM");
    if (options_.boot && !bring_up())
        throw std::runtime_error("the device did not boot; its log:\n" + firmware_log());
}

Host::~Host()
{
    disconnect();
    if (pid_ > 0 && !process_ended(milliseconds(5000))) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    for (int fd : doorbells_)
        ::close(fd);
    for (int fd : interrupts_)
        ::close(fd);
    ::munmap(bar2_.data(), bar2_.size());
    ::munmap(ram_.data(), ram_.size());
    ::close(bar2_fd_);
    ::close(ram_fd_);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

void Host::start_process()
{
    std::string program = path_from("AI_NPU_MODEL", AI_NPU_MODEL_PATH);
    std::string key = path_from("AI_NPU_KEY", AI_NPU_KEY_PATH);
    int out[2];

    std::vector<std::string> words = {program,
                                      "--profile",
                                      options_.profile,
                                      "--socket",
                                      folder_ / "device",
                                      "--control",
                                      folder_ / "control",
                                      "--ram",
                                      folder_ / "ram",
                                      "--ram-size",
                                      std::to_string(options_.ram_bytes),
                                      "--ram-lowmem",
                                      std::to_string(options_.lowmem_bytes),
                                      "--cache",
                                      cache_,
                                      "--key",
                                      key,
                                      "--log",
                                      folder_ / "log"};
    words.insert(words.end(), options_.extra.begin(), options_.extra.end());
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);

    if (::pipe2(out, O_CLOEXEC))
        give_up("pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
        ::dup2(out[1], 1);
        ::execv(program.c_str(), argv.data());
        ::_exit(127);
    }
    ::close(out[1]);

    std::string line;
    pollfd ready{out[0], POLLIN, 0};
    while (line.find('\n') == std::string::npos) {
        char text[64];
        if (::poll(&ready, 1, static_cast<int>(kPatience.count())) != 1)
            break;
        ssize_t n = ::read(out[0], text, sizeof(text));
        if (n <= 0)
            break;
        line.append(text, static_cast<std::size_t>(n));
    }
    ::close(out[0]);
    if (line != "ready\n")
        throw std::runtime_error(program + " said '" + line + "', needed is 'ready'");
}

void Host::connect()
{
    int fd = -1;

    socket_ = connect_unix(folder_ / "device");
    if (receive(socket_, fd) != 0 || receive(socket_, fd) != NPU_PEER_DRIVER ||
        receive(socket_, bar2_fd_) != -1)
        throw std::runtime_error("the ivshmem greeting is wrong");
    for (int& doorbell : doorbells_)
        if (receive(socket_, doorbell) != NPU_PEER_DEVICE)
            throw std::runtime_error("a doorbell is not of peer 0");
    for (int& interrupt : interrupts_)
        if (receive(socket_, interrupt) != NPU_PEER_DRIVER)
            throw std::runtime_error("an interrupt is not of peer 1");
    /* As QEMU does. */
    for (int shared : doorbells_)
        ::fcntl(shared, F_SETFL, O_NONBLOCK);
    for (int shared : interrupts_)
        ::fcntl(shared, F_SETFL, O_NONBLOCK);
    bar2_ = map_file(bar2_fd_, static_cast<std::uint64_t>(::lseek(bar2_fd_, 0, SEEK_END)));
}

void Host::disconnect()
{
    if (socket_ >= 0)
        ::close(socket_);
    socket_ = -1;
}

bool Host::process_ended(milliseconds patience)
{
    return pid_ <= 0 || eventually(
                            [this] {
                                if (::waitpid(pid_, nullptr, WNOHANG) != pid_)
                                    return false;
                                pid_ = 0;
                                return true;
                            },
                            patience);
}

/* ---- registers ---- */

void Host::ring(unsigned doorbell)
{
    std::uint64_t one = 1;

    std::atomic_thread_fence(std::memory_order_seq_cst);
    [[maybe_unused]] ssize_t n = ::write(doorbells_[doorbell], &one, sizeof(one));
}

bool Host::interrupt(unsigned vector, milliseconds patience)
{
    pollfd fd{interrupts_[vector], POLLIN, 0};
    std::uint64_t count;

    if (::poll(&fd, 1, static_cast<int>(patience.count())) != 1)
        return false;
    return ::read(interrupts_[vector], &count, sizeof(count)) == sizeof(count);
}

bool Host::wait_state(npu_state state, milliseconds patience)
{
    return eventually([&] { return regs().state == static_cast<std::uint32_t>(state); }, patience);
}

std::string Host::firmware_log()
{
    auto* log = reinterpret_cast<npu_log*>(bar2_.data() + regs().log_offset);
    std::uint32_t head = log->head, capacity = log->capacity;

    if (!capacity)
        return {};
    return std::string(log->text, std::min(head, capacity));
}

/* ---- resets ---- */

bool Host::reset(npu_reset what, milliseconds patience)
{
    std::uint32_t sequence = regs().reset_seq + 1;

    regs().reset = what;
    regs().reset_seq = sequence;
    ring(NPU_DB_RESET);
    return eventually([&] { return regs().reset_ack == sequence; }, patience);
}

bool Host::to_rom()
{
    return reset(NPU_RESET_ROM) && regs().state == NPU_STATE_ROM;
}

bool Host::power_cycle()
{
    std::uint32_t before = regs().power_on_count;

    ring(NPU_DB_POWER);
    return eventually([&] { return regs().power_on_count != before; }) && wait_state(NPU_STATE_ROM);
}

std::vector<std::byte> Host::good_image()
{
    std::ifstream file(path_from("AI_NPU_FIRMWARE", AI_NPU_FIRMWARE_PATH), std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::vector<std::byte> image(text.size());

    std::memcpy(image.data(), text.data(), text.size());
    return image;
}

std::uint32_t Host::boot(const std::vector<std::byte>& image)
{
    if (image.size() <= regs().load_bytes)
        std::memcpy(bar2_.data() + regs().load_offset, image.data(), image.size());
    regs().image_bytes = image.size();
    regs().config_addr = config_;
    if (!reset(NPU_RESET_BOOT))
        return 0xffffffff;
    eventually([this] { return regs().state != NPU_STATE_BOOTING; });
    return regs().state;
}

void Host::set_up_queues()
{
    if (!config_) {
        config_ = alloc(kPage);
        for (Queue& queue : queues_) {
            queue.index = alloc(kPage);
            queue.cmd = alloc(NPU_QUEUE_ENTRIES * sizeof(npu_cmd));
            queue.cpl = alloc(NPU_QUEUE_ENTRIES * sizeof(npu_cpl));
        }
    }
    npu_config& config = *at<npu_config>(config_);
    config.magic = NPU_CONFIG_MAGIC;
    config.bytes = sizeof(config);
    config.driver_abi = NPU_ABI_VERSION;
    config.entries = NPU_QUEUE_ENTRIES;
    for (unsigned i = 0; i < NPU_QUEUES; i++) {
        std::memset(memory(queues_[i].index), 0, sizeof(npu_ring_index));
        config.queue[i] = {queues_[i].index, queues_[i].cmd, queues_[i].cpl};
        queues_[i].cmd_tail = 0;
        queues_[i].cpl_head = 0;
    }
    sent_.clear();
    completed_.clear();
}

bool Host::bring_up()
{
    set_up_queues();
    if (boot(good_image()) != NPU_STATE_RUNNING)
        return false;
    own_ = make_tables(0);
    return control(NPU_OP_AS_CREATE, 0, 0, {own_.root}).status == NPU_ST_OK;
}

/* ---- guest memory ---- */

std::uint64_t Host::alloc(std::uint64_t bytes)
{
    std::uint64_t at = next_page_;

    bytes = (bytes + kPage - 1) / kPage * kPage;
    /* Not across the end of low memory. */
    if (at < options_.lowmem_bytes && at + bytes > options_.lowmem_bytes)
        at = options_.lowmem_bytes;
    if (at + bytes > options_.ram_bytes)
        throw std::runtime_error("the test's guest memory is used up");
    next_page_ = at + bytes;
    std::memset(ram_.data() + at, 0, bytes);
    return at < options_.lowmem_bytes ? at : at - options_.lowmem_bytes + kHighBase;
}

std::byte* Host::memory(std::uint64_t bus)
{
    return ram_.data() + (bus < kHighBase ? bus : bus - kHighBase + options_.lowmem_bytes);
}

/* ---- page tables ---- */

Host::Space Host::make_tables(std::uint32_t asid)
{
    return {asid, alloc(kPage)};
}

std::uint64_t* Host::table_entry(const Space& space, std::uint64_t va, unsigned level, bool create)
{
    std::uint64_t table = space.root;

    for (unsigned at_level = 3;; at_level--) {
        std::uint64_t* entry = at<std::uint64_t>(table) + (va >> (12 + 9 * at_level)) % 512;
        if (at_level == level)
            return entry;
        if (!(*entry & NPU_PTE_VALID)) {
            if (!create)
                return nullptr;
            *entry = alloc(kPage) | NPU_PTE_VALID;
        }
        table = *entry & NPU_PTE_ADDR;
    }
}

void Host::map(const Space& space, std::uint64_t va, std::uint64_t address, std::uint64_t bytes,
               std::uint64_t flags)
{
    for (std::uint64_t at = 0; at < bytes; at += kPage)
        *table_entry(space, va + at, 0, true) =
            (address + at) | flags | NPU_PTE_VALID | NPU_PTE_LEAF;
}

void Host::unmap(const Space& space, std::uint64_t va, std::uint64_t bytes)
{
    for (std::uint64_t at = 0; at < bytes; at += kPage)
        if (std::uint64_t* entry = table_entry(space, va + at, 0, false))
            *entry = 0;
}

Host::Space Host::create_space(std::uint32_t asid)
{
    Space space = make_tables(asid);

    if (control(NPU_OP_AS_CREATE, asid, 0, {space.root}).status != NPU_ST_OK)
        throw std::runtime_error("the address space could not be created");
    return space;
}

/* ---- commands ---- */

std::uint64_t Host::send(unsigned number, npu_cmd cmd)
{
    Queue& queue = queues_[number];

    if (!cmd.tag)
        cmd.tag = next_tag_++;
    sent_[cmd.tag] = true;
    at<npu_cmd>(queue.cmd)[queue.cmd_tail % NPU_QUEUE_ENTRIES] = cmd;
    queue.cmd_tail++;
    std::atomic_ref(at<npu_ring_index>(queue.index)->cmd_tail)
        .store(queue.cmd_tail, std::memory_order_release);
    ring(number == NPU_QUEUE_CTRL ? NPU_DB_CTRL : NPU_DB_JOB);
    return cmd.tag;
}

void Host::take_completions()
{
    for (Queue& queue : queues_) {
        auto* index = at<npu_ring_index>(queue.index);
        std::uint32_t tail = std::atomic_ref(index->cpl_tail).load(std::memory_order_acquire);

        while (queue.cpl_head != tail) {
            npu_cpl cpl = at<npu_cpl>(queue.cpl)[queue.cpl_head++ % NPU_QUEUE_ENTRIES];
            if (sent_.erase(cpl.tag))
                completed_[cpl.tag] = cpl;
            else
                strange_++;
        }
        index->cpl_head = queue.cpl_head;
    }
}

std::optional<npu_cpl> Host::wait(std::uint64_t tag, milliseconds patience)
{
    bool came = eventually(
        [&] {
            take_completions();
            return completed_.contains(tag);
        },
        patience);
    if (!came)
        return std::nullopt;
    npu_cpl cpl = completed_[tag];
    completed_.erase(tag);
    return cpl;
}

npu_cpl Host::call(unsigned queue, const npu_cmd& cmd)
{
    npu_cpl none{};

    none.status = 0xffffffff;
    return wait(send(queue, cmd)).value_or(none);
}

npu_cpl Host::control(npu_op op, std::uint32_t asid, std::uint64_t object,
                      std::array<std::uint64_t, 3> arg)
{
    npu_cmd cmd{};

    cmd.op = op;
    cmd.asid = asid;
    cmd.object = object;
    for (unsigned i = 0; i < 3; i++)
        cmd.arg[i] = arg[i];
    return call(NPU_QUEUE_CTRL, cmd);
}

/* ---- models ---- */

std::uint64_t Host::load_begin(std::span<const std::byte> model, Loaded& loaded)
{
    std::uint64_t bytes = std::max<std::uint64_t>(model.size(), 1);
    std::uint64_t artefact = alloc(bytes);
    std::uint64_t info = alloc(sizeof(npu_model_info));
    std::uint64_t va = next_model_va_;
    npu_cmd cmd{};

    next_model_va_ += (bytes + kPage - 1) / kPage * kPage;
    std::memcpy(memory(artefact), model.data(), model.size());
    map(own_, va, artefact, bytes, NPU_PTE_READ);
    loaded.id = next_model_++;
    loaded.info = at<npu_model_info>(info);
    cmd.op = NPU_OP_MODEL_LOAD;
    cmd.object = loaded.id;
    cmd.arg[0] = va;
    cmd.arg[1] = model.size();
    cmd.desc_addr = info;
    cmd.desc_bytes = sizeof(npu_model_info);
    return send(NPU_QUEUE_CTRL, cmd);
}

Host::Loaded Host::load(std::span<const std::byte> model)
{
    Loaded loaded{};
    npu_cpl none{};

    none.status = 0xffffffff;
    loaded.cpl = wait(load_begin(model, loaded)).value_or(none);
    return loaded;
}

/* ---- control socket ---- */

std::string Host::say(const std::string& line)
{
    int fd = connect_unix(folder_ / "control");
    std::string text = line + "\n", answer;
    char c;

    if (::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()))
        while (::read(fd, &c, 1) == 1 && c != '\n')
            answer += c;
    ::close(fd);
    return answer;
}

double Host::state_number(const std::string& key)
{
    std::string state = say("state");
    std::size_t at = state.find("\"" + key + "\":");

    if (at == std::string::npos)
        throw std::runtime_error("no " + key + " in " + state);
    return std::strtod(state.c_str() + at + key.size() + 3, nullptr);
}

} // namespace ai0::test

// NOLINTEND(concurrency-mt-unsafe)
