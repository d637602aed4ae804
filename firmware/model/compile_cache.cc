// SPDX-License-Identifier: GPL-2.0-only
#include "compile_cache.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

namespace ai0::npu {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kMagic = 0x4d304941; /* "AI0M" */
constexpr std::uint32_t kFormat = 1;
constexpr char kSuffix[] = ".model";
constexpr char kScratch[] = "scratch-";

struct EntryHeader {
    std::uint32_t magic;
    std::uint32_t format;
    std::uint64_t bytes;
    Sha256 key;    /* so that an entry under a wrong name is noticed */
    Sha256 digest; /* of what follows */
};

std::optional<std::vector<std::byte>> read_entry(const fs::path& path, const Sha256& key)
{
    EntryHeader header{};
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info = {};

    if (!fd || ::fstat(fd.get(), &info) ||
        ::read(fd.get(), &header, sizeof(header)) != sizeof(header) || header.magic != kMagic ||
        header.format != kFormat || header.key != key ||
        header.bytes != static_cast<std::uint64_t>(info.st_size) - sizeof(header))
        return std::nullopt;

    std::vector<std::byte> compiled(header.bytes);
    for (std::size_t at = 0; at < compiled.size();) {
        ssize_t n = ::read(fd.get(), compiled.data() + at, compiled.size() - at);
        if (n <= 0)
            return std::nullopt;
        at += static_cast<std::size_t>(n);
    }
    if (sha256(compiled) != header.digest)
        return std::nullopt;
    return compiled;
}

bool write_all(int fd, const void* data, std::size_t bytes)
{
    const char* at = static_cast<const char*>(data);

    while (bytes) {
        ssize_t n = ::write(fd, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= static_cast<std::size_t>(n);
    }
    return true;
}

/* A process that is gone left what it had not finished. */
bool left_behind(const fs::path& path)
{
    std::string name = path.filename().string();

    if (!name.starts_with(kScratch))
        return false;
    int pid = std::atoi(name.c_str() + sizeof(kScratch) - 1);
    return pid <= 0 || (::kill(pid, 0) && errno == ESRCH);
}

} // namespace

CompileCache::CompileCache(fs::path folder, Board& board, std::uint64_t max_bytes)
    : folder_(std::move(folder)), board_(board), max_bytes_(max_bytes)
{
    std::error_code error;

    fs::create_directories(folder_, error);
    if (error)
        log_line("the folder for compiled models " + folder_.string() +
                 " cannot be made: " + error.message() + "; every model is compiled anew");
    for (const auto& file : fs::directory_iterator(folder_, error))
        if (left_behind(file.path()))
            fs::remove(file.path(), error);
    std::lock_guard lock(mutex_);
    trim();
}

Sha256 CompileCache::key(const Sha256& model, std::uint32_t firmware, const std::string& engine,
                         const std::string& options)
{
    std::string text =
        to_hex(model) + "\n" + std::to_string(firmware) + "\n" + engine + "\n" + options + "\n";
    return sha256(std::as_bytes(std::span(text)));
}

fs::path CompileCache::path_of(const Sha256& key) const
{
    return folder_ / (to_hex(key) + kSuffix);
}

fs::path CompileCache::scratch()
{
    std::lock_guard lock(mutex_);
    return folder_ / (kScratch + std::to_string(::getpid()) + "-" + std::to_string(scratch_++));
}

std::optional<std::vector<std::byte>> CompileCache::get(const Sha256& key)
{
    fs::path path = path_of(key);
    std::error_code error;

    if (!fs::exists(path, error))
        return std::nullopt;
    std::optional<std::vector<std::byte>> compiled = read_entry(path, key);
    if (compiled) {
        /* When it was used last decides what goes first. */
        ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
        return compiled;
    }
    log_line("the compiled model " + path.string() + " is damaged and is made anew");
    fs::remove(path, error);
    return std::nullopt;
}

void CompileCache::put(const Sha256& key, std::span<const std::byte> compiled)
{
    fs::path temporary = scratch();
    EntryHeader header{kMagic, kFormat, compiled.size(), key, sha256(compiled)};
    std::error_code error;
    bool written = false;

    if (compiled.size() > max_bytes_)
        return;
    {
        UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
        written = fd && write_all(fd.get(), &header, sizeof(header)) &&
                  write_all(fd.get(), compiled.data(), compiled.size()) && ::fsync(fd.get()) == 0;
    }
    std::lock_guard lock(mutex_);
    if (written)
        fs::rename(temporary, path_of(key), error);
    if (!written || error) {
        log_line("a compiled model could not be kept in " + folder_.string() + ": " +
                 (error ? error.message() : errno_text(errno)));
        fs::remove(temporary, error);
        return;
    }
    trim();
}

/* Removes what was not used for longest until the rest fits. */
void CompileCache::trim()
{
    struct Entry {
        fs::path path;
        fs::file_time_type used;
        std::uint64_t bytes;
    };
    std::vector<Entry> entries;
    std::uint64_t total = 0;
    std::error_code error;

    for (const auto& file : fs::directory_iterator(folder_, error)) {
        if (file.path().extension() != kSuffix)
            continue;
        std::error_code ignored;
        entries.push_back({file.path(), file.last_write_time(ignored), file.file_size(ignored)});
        total += entries.back().bytes;
    }
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.used < b.used; });
    std::size_t removed = 0;
    while (total > max_bytes_ && removed < entries.size()) {
        fs::remove(entries[removed].path, error);
        total -= entries[removed++].bytes;
    }
    board_.cache_entries = static_cast<std::uint32_t>(entries.size() - removed);
    board_.cache_bytes = total;
}

} // namespace ai0::npu
