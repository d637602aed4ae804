/* SPDX-License-Identifier: Apache-2.0 */
#include "mapped_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <ai/unique_fd.h>

#include "text.h"

namespace ai::detail {

Result<MappedFile> MappedFile::open(const std::string& path)
{
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat file {};

    if (!fd.is_valid() || ::fstat(fd.get(), &file) != 0)
        return Error{errno, path + " cannot be opened: " + error_text(errno)};
    if (!S_ISREG(file.st_mode))
        return Error{EINVAL, path + " is not a regular file, one is needed"};
    if (file.st_size == 0)
        return Error{EBADMSG, path + " is empty"};

    auto size = static_cast<std::size_t>(file.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (data == MAP_FAILED)
        return Error{errno, path + " cannot be mapped: " + error_text(errno)};
    return MappedFile({static_cast<std::byte*>(data), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : data_(std::exchange(other.data_, {})) {}

MappedFile::~MappedFile()
{
    if (!data_.empty())
        ::munmap(data_.data(), data_.size());
}

} // namespace ai::detail
