/* SPDX-License-Identifier: Apache-2.0 */
/* From a picture to its text. */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include <ai/result.h>

#include "detector.h"
#include "recogniser.h"
#include "runner.h"

namespace ai_ocr {

struct Line {
    Quad box;
    Text text;
};

/* One inference of the pipeline, and what it was for. */
struct Step {
    std::string model;
    ai::Record record;
};

struct Page {
    std::vector<Line> lines; /* in reading order */
    std::vector<Step> steps;
};

class Pipeline {
public:
    /* @folder has the files of PP-OCRv4; ENOENT names one that is missing. */
    static ai::Result<std::unique_ptr<Pipeline>> load(Runner& runner, const std::string& folder);

    /* Lines of blanks, and those read with less than @least_confidence, are left out. */
    ai::Result<Page> read(const cv::Mat& picture, float least_confidence);

private:
    Pipeline(std::unique_ptr<RunnerModel> detection, std::unique_ptr<RunnerModel> recognition,
             Alphabet alphabet);

    std::unique_ptr<RunnerModel> detection_;
    std::unique_ptr<RunnerModel> recognition_;
    Detector detector_;
    Recogniser recogniser_;
};

} // namespace ai_ocr
