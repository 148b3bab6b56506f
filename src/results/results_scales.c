/* Dimension scales by attributes of our own: HDF5's high-level library, which has calls for them,
 * crashes at some allocations that fail. CLASS and NAME make a dataset a scale; DIMENSION_LIST of a
 * dataset has the scales of its axes; REFERENCE_LIST of a scale has the axes that use it. */
#include <hdf5.h>
#include <string.h>

#include "results/results_hdf5.h"
#include "support/memory.h"

static bool write_attribute(hid_t object, const char *name, hid_t type, hid_t space,
                            const void *data)
{
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = attribute >= 0 && H5Awrite(attribute, type, data) >= 0;
    return (attribute < 0 || H5Aclose(attribute) >= 0) && good;
}

static bool write_word(hid_t object, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    bool good = type >= 0 && space >= 0 && H5Tset_size(type, strlen(text) + 1) >= 0 &&
                write_attribute(object, name, type, space, text);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return good;
}

bool hdf5_scale_make(int64_t dataset, const char *name)
{
    return write_word(dataset, "CLASS", "DIMENSION_SCALE") && write_word(dataset, "NAME", name);
}

uint64_t hdf5_reference(int64_t dataset)
{
    hobj_ref_t reference = 0;
    return H5Rcreate(&reference, dataset, ".", H5R_OBJECT, -1) >= 0 ? reference : 0;
}

/* So many values of the type, one after the other. */
static bool write_list(hid_t object, const char *name, hid_t type, uint32_t count, const void *data)
{
    hsize_t dims = count;
    hid_t space = H5Screate_simple(1, &dims, NULL);
    bool good = type >= 0 && space >= 0 && write_attribute(object, name, type, space, data);
    if (space >= 0)
        H5Sclose(space);
    return good;
}

bool hdf5_scales_attach(int64_t dataset, const int64_t *scales, uint32_t rank)
{
    hobj_ref_t references[HDF5_RANK_MAX];
    hvl_t lists[HDF5_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) {
        references[i] = hdf5_reference(scales[i]);
        if (references[i] == 0)
            return false;
        lists[i] = (hvl_t){1, &references[i]};
    }
    hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ);
    bool good = write_list(dataset, "DIMENSION_LIST", type, rank, lists);
    if (type >= 0)
        H5Tclose(type);
    return good;
}

bool hdf5_scale_used(int64_t scale, const struct hdf5_axis *axes, uint32_t count)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof *axes);
    bool good =
        type >= 0 &&
        H5Tinsert(type, "dataset", HOFFSET(struct hdf5_axis, dataset), H5T_STD_REF_OBJ) >= 0 &&
        H5Tinsert(type, "dimension", HOFFSET(struct hdf5_axis, axis), H5T_NATIVE_INT) >= 0 &&
        write_list(scale, "REFERENCE_LIST", type, count, axes);
    if (type >= 0)
        H5Tclose(type);
    return good;
}
