/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_kernel.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr int kFd = 1000;
constexpr int kFirstContract = 2000;

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
    if (contracts_.erase(fd) == 1)
        return;
    require(fd == kFd, "another descriptor is closed");
    closes++;
}

int FakeKernel::ioctl(int fd, unsigned long request, void* argument)
{
    std::unique_lock lock(mutex_);
    const auto* head = static_cast<const ai_hdr*>(argument);

    require(fd == kFd || contracts_.contains(fd), "a call on another descriptor");
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
        return dispatch(fd, request, argument);
    lock.unlock(); /* others go on while a job runs */
    return infer(*static_cast<ai_infer*>(argument));
}

int FakeKernel::dispatch(int fd, unsigned long request, void* argument)
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
    case AI_EXPORT:
        return export_range(*static_cast<ai_export*>(argument));
    case AI_IMPORT:
        return import(*static_cast<ai_import*>(argument));
    case AI_SYNC:
        syncs.emplace_back(static_cast<ai_sync*>(argument)->hdr.flags,
                           static_cast<ai_sync*>(argument)->timeout_ns);
        return 0;
    case AI_MODEL_LOAD:
        return model_load(*static_cast<ai_model_load*>(argument));
    case AI_MODEL_INFO:
        return model_info(*static_cast<ai_model_info*>(argument));
    case AI_MODEL_UNLOAD:
        return model_unload(*static_cast<ai_model_unload*>(argument));
    case AI_CANCEL:
        return cancel(*static_cast<ai_cancel*>(argument));
    case AI_CONTRACT_CREATE:
        return contract_create(*static_cast<ai_contract_create*>(argument));
    case AI_CONTRACT_QUERY:
        return contract_query(fd, *static_cast<ai_contract_info*>(argument));
    case AI_CONTRACT_EVENTS:
        return contract_events(*static_cast<ai_contract_events*>(argument));
    case AI_CONTRACT_RENEW:
        require(fd != kFd, "AI_CONTRACT_RENEW on the node");
        renewals++;
        return 0;
    case AI_FUSE_RESET:
        static_cast<ai_fuse_reset*>(argument)->closed = 2;
        return 0;
    case AI_DUMP:
        return dump(*static_cast<ai_dump*>(argument));
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
    require((argument.hdr.flags & ~AI_ALLOC_CONTRACT) == AI_ALLOC_MAP,
            "AI_ALLOC without AI_ALLOC_MAP");
    last_alloc = argument;
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

    require((argument.hdr.flags == AI_FREE_UNMAP) == (argument.address != 0),
            "AI_FREE of a range that is mapped without AI_FREE_UNMAP");
    require(found != ranges_.end(), "AI_FREE of what is not allocated");
    if (found == ranges_.end())
        return -ENOENT;
    require(!argument.address || pointer<Page>(argument.address) == found->second.data(),
            "AI_FREE of another address");
    ranges_.erase(found);
    return 0;
}

int FakeKernel::export_range(ai_export& argument)
{
    last_export = argument;
    require(ranges_.contains(argument.la), "AI_EXPORT of what is not allocated");
    argument.fd = ::dup(STDOUT_FILENO);
    return 0;
}

/* A range of its own, whatever it is asked for. */
int FakeKernel::import(ai_import& argument)
{
    last_import = argument;
    require(argument.perm != 0, "AI_IMPORT without permissions");
    if (argument.kind == AI_IMPORT_FD && argument.fd < 0)
        return fail(argument.hdr, -EBADF, "fd is not open");
    Range& range = ranges_[next_page_];
    range.resize(argument.bytes ? argument.bytes / kPage : 4);
    argument.bytes = range.size() * kPage;
    argument.la = next_page_;
    argument.mmap_offset = next_page_ * kPage;
    argument.origin = argument.kind == AI_IMPORT_USER ? AI_ORIGIN_USER : AI_ORIGIN_DMABUF;
    next_page_ += range.size() + 1;
    return 0;
}

int FakeKernel::map(int fd, std::uint64_t offset, ai::Bytes size, bool write, std::byte** to)
{
    auto found = ranges_.find(offset / kPage);

    require(fd == kFd && found != ranges_.end(), "mmap() of what is not there");
    if (imports_cannot_be_mapped)
        return -ENOMEM;
    if (write && imports_read_only)
        return -EACCES;
    require(memory(found->second).size() == size.count(), "mmap() of another size");
    *to = memory(found->second).data();
    return 0;
}

void FakeKernel::unmap(std::span<std::byte> pages)
{
    require(!pages.empty(), "munmap() of nothing");
    unmaps++;
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
        require((argument.hdr.flags & ~AI_INFER_CONTRACT) == 0, "AI_INFER with flags");
        require(argument.hdr.flags ? contracts_.contains(argument.contract) : !argument.contract,
                "AI_INFER with a contract that is none");
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
        job.contract = argument.contract;
        job.argument = &argument;
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

int FakeKernel::contract_create(ai_contract_create& argument)
{
    int fd = kFirstContract + 1;

    require(argument.hdr.flags == 0 && argument.reserved == 0 && argument.terms.reserved == 0,
            "AI_CONTRACT_CREATE with flags or reserved fields");
    require(argument.name[0] != '\0' && argument.name[AI_NAME_LEN - 1] == '\0',
            "the contract has no name");
    if (refusal) {
        argument.answer = AI_ANSWER_REFUSED;
        argument.term = refusal->term;
        argument.device = refusal->device;
        argument.needed = refusal->needed;
        argument.available = refusal->available;
        argument.offered = refusal->offered;
        argument.offer = refusal->offer;
        refusal.reset();
        return fail(argument.hdr, -EDQUOT, "over budget");
    }
    while (contracts_.contains(fd))
        fd++;
    Contract& contract = contracts_[fd];
    contract.terms = argument;
    const auto* memory = pointer<const ai_memory_term>(argument.memory);
    contract.memory.assign(memory, memory + argument.nr_memory);
    argument.answer = AI_ANSWER_GRANTED;
    argument.fd = fd;
    argument.id = static_cast<std::uint64_t>(fd - kFirstContract);
    return 0;
}

int FakeKernel::contract_query(int fd, ai_contract_info& argument)
{
    auto found = contracts_.find(fd == kFd ? kFirstContract + static_cast<int>(argument.id) : fd);

    if (argument.hdr.flags & AI_CONTRACT_NEXT)
        found = contracts_.lower_bound(kFirstContract + static_cast<int>(argument.id));
    if (found == contracts_.end())
        return fail(argument.hdr, -ENOENT, "no such contract");
    const Contract& contract = found->second;
    ai_contract_info out = figures;
    out.hdr = argument.hdr;
    out.memory = argument.memory;
    out.capacity = argument.capacity;
    out.id = static_cast<std::uint64_t>(found->first - kFirstContract);
    out.terms = contract.terms.terms;
    out.nr_memory = static_cast<std::uint32_t>(contract.memory.size());
    std::ranges::copy(contract.terms.name, out.name);
    std::copy_n(contract.memory.begin(),
                std::min<std::size_t>(contract.memory.size(), argument.capacity),
                pointer<ai_memory_term>(argument.memory));
    argument = out;
    return 0;
}

int FakeKernel::dump(ai_dump& argument)
{
    require(argument.hdr.flags == 0 && argument.reserved == 0, "AI_DUMP with flags");
    dumps++;
    dump_bytes += dump_grows;
    argument.needed = dump_bytes;
    if (argument.device != devices.at(0).device)
        return fail(argument.hdr, -ENOENT, "no such device");
    if (argument.capacity < dump_bytes)
        return fail(argument.hdr, -ENOSPC, "capacity is too small");
    std::fill_n(pointer<std::byte>(argument.buffer), dump_bytes, std::byte{0x5a});
    return 0;
}

int FakeKernel::contract_events(ai_contract_events& argument)
{
    auto* to = pointer<ai_event>(argument.events);

    argument.count = 0;
    for (const ai_event& event : events)
        if (event.sequence > argument.after && argument.count < argument.capacity)
            to[argument.count++] = event;
    return 0;
}

long FakeKernel::read(int fd, std::span<std::byte> to)
{
    Contract& contract = contracts_.at(fd);
    std::size_t count = std::min(events.size() - contract.read, to.size() / sizeof(ai_event));

    if (count == 0)
        return -EAGAIN;
    std::memcpy(to.data(), events.data() + contract.read, count * sizeof(ai_event));
    contract.read += count;
    return static_cast<long>(count * sizeof(ai_event));
}

int FakeKernel::wait_readable(int fd, ai::Nanoseconds /*timeout*/)
{
    return contracts_.at(fd).read < events.size() ? 1 : 0;
}
