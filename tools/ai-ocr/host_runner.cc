/* SPDX-License-Identifier: Apache-2.0 */
#include "host_runner.h"

#include <cerrno>
#include <chrono>
#include <optional>
#include <vector>

#include <dlfcn.h>

/* The library is loaded when it is asked for: the device's path does without it. */
#define ORT_API_MANUAL_INIT
#include <onnxruntime_cxx_api.h>
#undef ORT_API_MANUAL_INIT

namespace ai_ocr {

namespace {

class HostModel final : public RunnerModel {
public:
    explicit HostModel(Ort::Session session) : session_(std::move(session))
    {
        Ort::AllocatorWithDefaultOptions allocator;

        input_name_ = session_.GetInputNameAllocated(0, allocator).get();
        output_name_ = session_.GetOutputNameAllocated(0, allocator).get();
    }

    ai::Result<std::span<float>> input(const ai::Shape& shape) override
    {
        shape_.assign(shape.begin(), shape.end());
        input_.assign(shape.elements().value_or(0), 0);
        return std::span<float>(input_);
    }

    ai::Result<Output> run() override
    try {
        const char* input_name = input_name_.c_str();
        const char* output_name = output_name_.c_str();
        auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
        Ort::Value in = Ort::Value::CreateTensor<float>(memory, input_.data(), input_.size(),
                                                        shape_.data(), shape_.size());
        ai::Clock::time_point begin = ai::Clock::now();
        auto out = session_.Run(Ort::RunOptions(), &input_name, &in, 1, &output_name, 1);
        Output output;

        output.record.run = ai::Clock::now() - begin;
        output.record.device_name = "host";
        output_.emplace(std::move(out.front()));
        auto info = output_->GetTensorTypeAndShapeInfo();
        ai::Result<ai::Shape> shape = ai::Shape::from(info.GetShape());
        if (!shape)
            return std::move(shape).error();
        output.shape = *shape;
        output.data = {output_->GetTensorData<float>(), info.GetElementCount()};
        return output;
    } catch (const Ort::Exception& error) {
        return ai::Error{EIO, std::string("ONNX Runtime: ") + error.what()};
    }

private:
    Ort::Session session_;
    std::string input_name_;
    std::string output_name_;
    std::vector<std::int64_t> shape_;
    std::vector<float> input_;
    std::optional<Ort::Value> output_;
};

class HostRunner final : public Runner {
public:
    HostRunner() : env_(ORT_LOGGING_LEVEL_ERROR, "ai-ocr") {}

    ai::Result<std::unique_ptr<RunnerModel>> load(const std::string& path) override
    try {
        return std::unique_ptr<RunnerModel>(
            std::make_unique<HostModel>(Ort::Session(env_, path.c_str(), Ort::SessionOptions())));
    } catch (const Ort::Exception& error) {
        return ai::Error{EBADMSG, path + ": ONNX Runtime: " + error.what()};
    }

private:
    Ort::Env env_;
};

} // namespace

ai::Result<std::unique_ptr<Runner>> open_host_runner()
{
    using GetApiBase = const OrtApiBase*();
    /* Never unloaded: threads of its own may outlive what is known of here. */
    void* library = ::dlopen("libonnxruntime.so.1", RTLD_NOW | RTLD_LOCAL);
    void* symbol = library ? ::dlsym(library, "OrtGetApiBase") : nullptr;

    if (!symbol)
        return ai::Error{ENOENT, std::string("ONNX Runtime, which --reference needs, is not "
                                             "to be had: ") +
                                     ::dlerror()}; // NOLINT(concurrency-mt-unsafe): in glibc it is
    const OrtApi* api = reinterpret_cast<GetApiBase*>(symbol)()->GetApi(ORT_API_VERSION);
    if (!api)
        return ai::Error{EPROTO, "libonnxruntime.so.1 is older than the headers this program was "
                                 "built with"};
    Ort::InitApi(api);
    return std::unique_ptr<Runner>(std::make_unique<HostRunner>());
}

} // namespace ai_ocr
