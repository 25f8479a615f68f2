//===- ImageFolder.h - Folders of images ------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_IMAGES_IMAGEFOLDER_H
#define MPC_TOOLS_MPC_DATA_IMAGES_IMAGEFOLDER_H

#include "tools/mpc/data/sources/DataSource.h"
#include "tools/mpc/data/sources/TextColumn.h"

namespace mpc::tool {

/// Images in PNG or JPEG files: FOLDER/CLASS/IMAGE with `labels`, which are the
/// numbers of the sorted classes (or of those in `classes`), or FOLDER/IMAGE
/// without. Files are sorted by name. Images are decoded when a batch is
/// gathered. Returns null if the folder has no images.
std::unique_ptr<DataSource> openImageFolder(const std::string &path,
                                            const ClassNames &classes);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_IMAGES_IMAGEFOLDER_H
