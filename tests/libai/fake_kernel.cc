/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_kernel.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr int kFd = 1000;

template <typename T> T* pointer(std::uint64_t address)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the interface has addresses as numbers
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

int fail(const ai_hdr& head, int code, const std::string& sentence)
{
    auto* to = pointer<char>(head.error);

    if (to && head.error_len) {
        std::size_t length = std::min<std::size_t>(sentence.size(), head.error_len - 1);
        std::memcpy(to, sentence.data(), length);
        to[length] = '\0';
    }
    return code;
}

} // namespace

ai_tensor_info tensor_info(const char* name, ai_dtype dtype, std::vector<std::int64_t> dims)
{
    ai_tensor_info info{};

    std::strncpy(info.name, name, sizeof(info.name) - 1);
    info.dtype = dtype;
    info.rank = static_cast<std::uint32_t>(dims.size());
    std::ranges::copy(dims, info.dims);
    return info;
}

void set_output(ai_tensor& output, ai_dtype dtype, std::vector<std::uint64_t> dims,
                std::uint64_t needed)
{
    output.dtype = dtype;
    output.rank = static_cast<std::uint32_t>(dims.size());
    std::ranges::copy(dims, output.dims);
    output.needed = needed;
}

ai_device_info device_info(std::uint32_t device, const char* name)
{
    ai_device_info info{};

    info.device = device;
    info.properties = AI_DEVICE_F_EMULATED | AI_DEVICE_F_MODELS;
    std::strncpy(info.name, name, sizeof(info.name) - 1);
    std::strncpy(info.firmware, "1.2.3", sizeof(info.firmware) - 1);
    return info;
}

void FakeKernel::require(bool holds, const char* what)
{
    if (!holds)
        violations.emplace_back(what);
}

int FakeKernel::open(const char* /*path*/, int flags)
{
    require((flags & O_CLOEXEC) != 0, "the node is opened without O_CLOEXEC");
    require((flags & O_ACCMODE) == O_RDWR, "the node is not opened for reading and writing");
    if (interruptions > 0) {
        interruptions--;
        return -EINTR;
    }
    if (open_error)
        return -open_error;
    opens++;
    return kFd;
}

void FakeKernel::close(int fd)
{
    require(fd == kFd, "another descriptor is closed");
    closes++;
}

int FakeKernel::ioctl(int fd, unsigned long request, void* argument)
{
    std::unique_lock lock(mutex_);
    const auto* head = static_cast<const ai_hdr*>(argument);

    require(fd == kFd, "a call on another descriptor");
    require(head->size == _IOC_SIZE(request), "size is not that of the struct");
    require(head->reserved == 0, "reserved is not 0");
    require(head->error != 0 && head->error_len == AI_ERROR_LEN, "no room for the sentence");
    if (interruptions > 0) {
        interruptions--;
        return -EINTR;
    }
    if (fail_request == request) {
        fail_request = 0;
        return -fail_error;
    }
    if (request != AI_INFER)
        return dispatch(request, argument);
    lock.unlock(); /* others go on while a job runs */
    return infer(*static_cast<ai_infer*>(argument));
}

int FakeKernel::dispatch(unsigned long request, void* argument)
{
    switch (request) {
    case AI_INFO:
        return info(*static_cast<ai_info*>(argument));
    case AI_DEVICE_INFO:
        return device_info(*static_cast<ai_device_info*>(argument));
    case AI_ALLOC:
        return alloc(*static_cast<ai_alloc*>(argument));
    case AI_FREE:
        return free(*static_cast<ai_free*>(argument));
    case AI_MODEL_LOAD:
        return model_load(*static_cast<ai_model_load*>(argument));
    case AI_MODEL_INFO:
        return model_info(*static_cast<ai_model_info*>(argument));
    case AI_MODEL_UNLOAD:
        return model_unload(*static_cast<ai_model_unload*>(argument));
    case AI_CANCEL:
        return cancel(*static_cast<ai_cancel*>(argument));
    default:
        return -ENOTTY;
    }
}

int FakeKernel::info(ai_info& argument)
{
    require(argument.hdr.flags == 0, "AI_INFO with flags");
    argument.abi_major = abi_major;
    argument.abi_minor = AI_ABI_MINOR;
    argument.page_size = kPage;
    argument.nr_devices = static_cast<std::uint32_t>(devices.size());
    argument.max_tensors = AI_MAX_TENSORS;
    argument.max_dims = AI_MAX_DIMS;
    argument.max_model_bytes = AI_MAX_MODEL_BYTES;
    return 0;
}

int FakeKernel::device_info(ai_device_info& argument)
{
    ai_hdr head = argument.hdr;
    bool next = (head.flags & AI_DEVICE_NEXT) != 0;

    require((head.flags & ~AI_DEVICE_NEXT) == 0, "AI_DEVICE_INFO with unknown flags");
    for (const ai_device_info& device : devices)
        if (next ? device.device >= argument.device : device.device == argument.device) {
            argument = device;
            argument.hdr = head;
            return 0;
        }
    return fail(head, -ENOENT,
                "device is " + std::to_string(argument.device) + ", no such device is registered");
}

int FakeKernel::alloc(ai_alloc& argument)
{
    require(argument.hdr.flags == AI_ALLOC_MAP, "AI_ALLOC without AI_ALLOC_MAP");
    require(argument.reserved == 0, "reserved of AI_ALLOC is not 0");
    if (argument.bytes == 0)
        return fail(argument.hdr, -EINVAL, "bytes is 0, at least 1 is needed");
    if (argument.bytes > 1ULL << 40)
        return fail(argument.hdr, -EFBIG, "bytes is too many");
    Range& range = ranges_[next_page_];
    range.resize((argument.bytes + kPage - 1) / kPage);
    argument.bytes = range.size() * kPage;
    argument.cache = AI_CACHE_CACHED;
    argument.la = next_page_;
    argument.mmap_offset = next_page_ * kPage;
    argument.address = reinterpret_cast<std::uintptr_t>(range.data());
    next_page_ += range.size() + 1;
    return 0;
}

int FakeKernel::free(ai_free& argument)
{
    auto found = ranges_.find(argument.la);

    require(argument.hdr.flags == AI_FREE_UNMAP, "AI_FREE without AI_FREE_UNMAP");
    require(found != ranges_.end(), "AI_FREE of what is not allocated");
    if (found == ranges_.end())
        return -ENOENT;
    require(pointer<Page>(argument.address) == found->second.data(), "AI_FREE of another address");
    ranges_.erase(found);
    return 0;
}

int FakeKernel::model_load(ai_model_load& argument)
{
    require((argument.hdr.flags & ~AI_MODEL_NOWAIT) == 0, "AI_MODEL_LOAD with unknown flags");
    require(argument.format == AI_FORMAT_ONNX, "the format is not ONNX");
    require(argument.name[0] != '\0' &&
                std::ranges::find(argument.name, '\0') != argument.name + AI_NAME_LEN,
            "the model has no name");
    last_load = argument;
    const auto* data = pointer<const std::byte>(argument.data);
    last_artefact.assign(data, data + argument.bytes);
    if (argument.bytes < 4)
        return fail(argument.hdr, -EBADMSG, "npu0: the model is truncated");
    argument.model = next_model_++;
    argument.version = argument.version ? argument.version : 1;
    argument.device =
        argument.device == AI_DEVICE_ANY ? AI_DEVICE(AI_CLASS_NPU, 0) : argument.device;
    argument.nr_inputs = static_cast<std::uint32_t>(model.inputs.size());
    argument.nr_outputs = static_cast<std::uint32_t>(model.outputs.size());
    argument.compile_ns = 5000000;
    models_[argument.model] = model;
    return 0;
}

int FakeKernel::model_info(ai_model_info& argument)
{
    auto found = models_.find(argument.model);

    require(argument.hdr.flags == 0, "AI_MODEL_INFO with flags");
    if (found == models_.end())
        return fail(argument.hdr, -ENOENT, "model is not loaded");
    argument.state = AI_MODEL_READY;
    if (compiling > 0) {
        compiling--;
        argument.state = AI_MODEL_COMPILING;
        return 0;
    }
    if (!model_failure.empty()) {
        argument.state = AI_MODEL_FAILED;
        std::strncpy(argument.reason, model_failure.c_str(), sizeof(argument.reason) - 1);
        return 0;
    }
    argument.nr_inputs = static_cast<std::uint32_t>(found->second.inputs.size());
    argument.nr_outputs = static_cast<std::uint32_t>(found->second.outputs.size());
    argument.compile_ns = 5000000;
    std::vector<ai_tensor_info> all = found->second.inputs;
    all.insert(all.end(), found->second.outputs.begin(), found->second.outputs.end());
    std::copy_n(all.begin(), std::min<std::size_t>(all.size(), argument.capacity),
                pointer<ai_tensor_info>(argument.tensors));
    return 0;
}

int FakeKernel::model_unload(ai_model_unload& argument)
{
    require(argument.hdr.flags == 0 && argument.reserved == 0, "AI_MODEL_UNLOAD with flags");
    require(models_.erase(argument.model) == 1, "AI_MODEL_UNLOAD of what is not loaded");
    return 0;
}

std::span<std::byte> FakeKernel::resolve(const ai_tensor& tensor)
{
    for (std::uint32_t d = std::min<std::uint32_t>(tensor.rank, AI_MAX_DIMS); d < AI_MAX_DIMS; d++)
        require(tensor.dims[d] == 0, "a dimension beyond the rank is not 0");
    if (tensor.bytes == 0) {
        require(tensor.la == 0 && tensor.offset == 0, "a tensor without bytes has an address");
        return {};
    }
    auto found = ranges_.find(tensor.la);
    std::span<std::byte> all =
        found == ranges_.end() ? std::span<std::byte>() : memory(found->second);
    if (tensor.offset > all.size() || tensor.bytes > all.size() - tensor.offset) {
        require(false, "a tensor is not inside a range");
        return {};
    }
    return all.subspan(tensor.offset, tensor.bytes);
}

int FakeKernel::infer(ai_infer& argument)
{
    Job job;

    infers_++;
    {
        std::lock_guard lock(mutex_);
        require(argument.hdr.flags == 0, "AI_INFER with flags");
        require(models_.contains(argument.model), "AI_INFER of what is not loaded");
        std::span in(pointer<ai_tensor>(argument.inputs), argument.nr_inputs);
        std::span out(pointer<ai_tensor>(argument.outputs), argument.nr_outputs);
        job.inputs.assign(in.begin(), in.end());
        job.outputs.assign(out.begin(), out.end());
        for (const ai_tensor& tensor : in)
            job.input_data.push_back(resolve(tensor));
        for (const ai_tensor& tensor : out)
            job.output_data.push_back(resolve(tensor));
        job.cookie = argument.cookie;
        job.timeout_ns = argument.timeout_ns;
        job.deadline_ns = argument.deadline_ns;
        job.priority = argument.priority;
    }
    running_cookie_ = argument.cookie;
    int ret = on_infer(job);
    running_cookie_ = 0;

    argument.record.job = static_cast<std::uint64_t>(infers_);
    argument.record.run_ns = 1000;
    argument.record.device = AI_DEVICE(AI_CLASS_NPU, 0);
    argument.record.bytes_in_place = 64;
    std::strncpy(argument.record.device_name, "npu0", sizeof(argument.record.device_name) - 1);
    std::strncpy(argument.record.firmware, "1.2.3", sizeof(argument.record.firmware) - 1);
    if (!ret || ret == -ENOSPC)
        std::ranges::copy(job.outputs, pointer<ai_tensor>(argument.outputs));
    return ret ? fail(argument.hdr, ret, job.sentence) : 0;
}

int FakeKernel::cancel(ai_cancel& argument)
{
    require(argument.hdr.flags == 0 && argument.reserved == 0, "AI_CANCEL with flags");
    cancels++;
    argument.cancelled = !hide_jobs && running_cookie_ == argument.cookie ? 1 : 0;
    if (argument.cancelled)
        cancelled_cookie = argument.cookie;
    return 0;
}
