/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <array>
#include <cerrno>
#include <span>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

namespace ai::detail {

namespace {

std::string group_name(gid_t gid)
{
    std::array<char, 4096> text;
    group entry{};
    group* found = nullptr;

    if (getgrgid_r(gid, &entry, text.data(), text.size(), &found) == 0 && found)
        return entry.gr_name;
    return std::to_string(gid);
}

/* Whether the group database has the user in the group, whatever this process has. */
bool user_is_member(gid_t gid)
{
    std::array<char, 4096> text;
    passwd user{};
    passwd* found = nullptr;

    if (getpwuid_r(geteuid(), &user, text.data(), text.size(), &found) != 0 || !found)
        return false;
    std::vector<gid_t> groups(256);
    auto count = static_cast<int>(groups.size());
    if (getgrouplist(user.pw_name, user.pw_gid, groups.data(), &count) < 0)
        return false;
    for (gid_t group : std::span(groups).first(static_cast<std::size_t>(count)))
        if (group == gid)
            return true;
    return false;
}

std::string permission_sentence(const std::string& path)
{
    struct stat node {};
    std::string text = "permission to open " + path + " for reading and writing is denied";

    if (::stat(path.c_str(), &node) != 0)
        return text + ", and so is looking at it: check the folders that lead there";
    std::string group = group_name(node.st_gid);
    text += "; it belongs to group " + group;
    if ((node.st_mode & (S_IRGRP | S_IWGRP)) != (S_IRGRP | S_IWGRP))
        return text + ", which may not read and write it either: the udev rule of ai0 is missing";
    if (user_is_member(node.st_gid))
        return text + ", which you have joined since you logged in: log in again";
    return text + ": join that group ('usermod -aG " + group + " USER' as root, then log in again)";
}

Error open_error(const std::string& path, int code)
{
    switch (code) {
    case ENOENT:
    case ENOTDIR:
        return {code, path + " does not exist: load the kernel module ('modprobe ai' as root), or "
                             "name the node in the environment variable AI_DEVICE_NODE"};
    case EACCES:
    case EPERM:
        return {code, permission_sentence(path)};
    case ENODEV:
    case ENXIO:
        return {code, path + " is there but no kernel module serves it: load it ('modprobe ai' as "
                             "root)"};
    default:
        return {code, path + " cannot be opened: " + error_text(code)};
    }
}

} // namespace

File::File(std::shared_ptr<Syscalls> syscalls, int fd, std::string path)
    : syscalls_(std::move(syscalls)), fd_(fd), path_(std::move(path))
{
}

File::~File()
{
    syscalls_->close(fd_);
}

Result<Session> File::open(const std::string& path, std::shared_ptr<Syscalls> syscalls)
{
    int fd = -EINTR;

    while (fd == -EINTR)
        fd = syscalls->open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return open_error(path, -fd);

    auto file = std::make_shared<File>(std::move(syscalls), fd, path);
    if (Result<void> learned = file->learn(); !learned)
        return learned.error();
    return session(std::move(file));
}

Result<void> File::learn()
{
    ai_info info{};

    if (Result<void> result = call(AI_INFO, "AI_INFO", info); !result) {
        if (result.error().code == ENOTTY)
            return Error{ENOTTY, path_ + " does not answer AI_INFO: it is not a node of ai0, such "
                                         "as /dev/ai0"};
        return result;
    }
    if (info.abi_major != AI_ABI_MAJOR)
        return Error{EPROTO,
                     "the kernel module has interface version " + std::to_string(info.abi_major) +
                         "." + std::to_string(info.abi_minor) + ", libai needs " +
                         std::to_string(AI_ABI_MAJOR) + ".x: install the two from one release"};
    info_.abi_major = info.abi_major;
    info_.abi_minor = info.abi_minor;
    info_.features = info.features;
    info_.devices = info.nr_devices;
    info_.max_tensors = info.max_tensors;
    info_.max_dims = info.max_dims;
    info_.page_size = Bytes(info.page_size);
    info_.max_model = Bytes(info.max_model_bytes);
    info_.max_allocation = Bytes(info.max_alloc_bytes);
    return {};
}

Result<void> File::call(int fd, unsigned long request, const char* name, ai_hdr* head) const
{
    std::array<char, AI_ERROR_LEN> sentence;
    int ret = -EINTR;

    sentence[0] = '\0';
    head->error = reinterpret_cast<std::uintptr_t>(sentence.data());
    head->error_len = static_cast<__u32>(sentence.size());
    while (ret == -EINTR)
        ret = syscalls_->ioctl(fd, request, head);
    head->error = 0;
    head->error_len = 0;
    if (ret >= 0)
        return {};

    sentence.back() = '\0';
    if (sentence[0])
        return Error{-ret, sentence.data()};
    if (ret == -ENOTTY)
        return Error{ENOTTY, std::string("the kernel does not know the call ") + name +
                                 ": its module is older than libai"};
    return Error{-ret, std::string(name) + " failed: " + error_text(-ret)};
}

} // namespace ai::detail
