/* SPDX-License-Identifier: Apache-2.0 */
#include "host_tensor.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace ai_run {

ai::Result<void> check_size(const HostTensor& tensor, const std::string& where)
{
    if (tensor.dtype == ai::DType::kString) {
        auto strings = ai::unpack_strings(tensor.data, tensor.shape.elements().value_or(0));
        return strings ? ai::Result<void>() : ai::Result<void>(strings.error());
    }
    ai::Result<ai::Bytes> needed = ai::tensor_bytes(tensor.dtype, tensor.shape);
    if (!needed)
        return ai::Error{EBADMSG, where + ": " + needed.error().message};
    if (needed->count() != tensor.data.size())
        return ai::Error{EBADMSG, where + " has " + std::to_string(tensor.data.size()) +
                                      " bytes of elements, " + ai::dtype_name(tensor.dtype) + " " +
                                      ai::to_string(tensor.shape) + " takes " +
                                      std::to_string(needed->count())};
    return {};
}

ai::Result<std::vector<std::byte>> read_file(const std::string& path)
{
    std::error_code unreadable;
    std::uintmax_t size = std::filesystem::file_size(path, unreadable);
    std::ifstream file(path, std::ios::binary);

    if (unreadable || !file)
        return ai::Error{ENOENT, path + " cannot be read: " +
                                     (unreadable ? unreadable.message()
                                                 : std::generic_category().message(errno))};
    std::vector<std::byte> data(size);
    file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(size));
    if (static_cast<std::uintmax_t>(file.gcount()) != size)
        return ai::Error{EIO, path + " ended after " + std::to_string(file.gcount()) +
                                  " bytes, it has " + std::to_string(size)};
    return data;
}

ai::Result<void> write_file(const std::string& path, std::span<const std::byte> data)
{
    std::ofstream file(path, std::ios::binary | std::ios::trunc);

    file.write(reinterpret_cast<const char*>(data.data()),
               static_cast<std::streamsize>(data.size()));
    file.close();
    if (!file)
        return ai::Error{EIO,
                         path + " cannot be written: " + std::generic_category().message(errno)};
    return {};
}

ai::Result<ai::Tensor> to_device(const ai::Session& session, const HostTensor& tensor)
{
    if (tensor.dtype == ai::DType::kString) {
        auto strings = ai::unpack_strings(tensor.data, tensor.shape.elements().value_or(0));
        if (!strings)
            return std::move(strings).error();
        return ai::Tensor::from_strings(session, tensor.shape,
                                        std::vector<std::string>(strings->begin(), strings->end()));
    }
    ai::Result<ai::Tensor> out = ai::Tensor::allocate(session, tensor.dtype, tensor.shape);
    if (out)
        std::ranges::copy(tensor.data, out->data().begin());
    return out;
}

HostTensor from_device(const ai::Tensor& tensor, const std::string& name)
{
    std::span<const std::byte> data = tensor.data();

    return {name, tensor.dtype(), tensor.shape(), {data.begin(), data.end()}};
}

} // namespace ai_run
