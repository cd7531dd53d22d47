/* Files, groups, datasets and attributes of HDF5: hdf5_truth DIRECTORY. */
#include <hdf5.h>
#include <hdf5_hl.h>

#include "known.h"

enum { COUNT = 100, ROUNDS = 5 };

#define CALL(bytes, function, ...) EXPECT(KNOWN(bytes, function, __VA_ARGS__) >= 0)

static int values[COUNT], others[COUNT];

static void write_and_read(hid_t place, hid_t space)
{
	hid_t dataset = KNOWN(0, H5Dcreate2, place, "values", H5T_NATIVE_INT, space, H5P_DEFAULT,
			      H5P_DEFAULT, H5P_DEFAULT);

	for (int i = 0; i < ROUNDS; i++) {
		values[0] = i;
		CALL(0, H5Dwrite, dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
	}
	CALL(0, H5Dclose, dataset);
	dataset = KNOWN(0, H5Dopen2, place, "values", H5P_DEFAULT);
	CALL(0, H5Dread, dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, others);
	EXPECT(others[0] == ROUNDS - 1);
	CALL(0, H5Dclose, dataset);
	EXPECT(KNOWN_FAILURE(H5Dopen2, place, "missing", H5P_DEFAULT) < 0);
}

static void write_chunk(hid_t place, hid_t space)
{
	hsize_t chunk = COUNT, first = 0;
	hid_t properties = H5Pcreate(H5P_DATASET_CREATE);

	H5Pset_chunk(properties, 1, &chunk);
	hid_t dataset = KNOWN(0, H5Dcreate2, place, "chunks", H5T_NATIVE_INT, space, H5P_DEFAULT,
			      properties, H5P_DEFAULT);
	CALL(sizeof(values), H5Dwrite_chunk, dataset, H5P_DEFAULT, 0, &first, sizeof(values),
	     values);
	CALL(0, H5Dclose, dataset);
	H5Pclose(properties);
}

static void use_attributes(hid_t place)
{
	hid_t scalar = H5Screate(H5S_SCALAR);
	hid_t attribute =
	    KNOWN(0, H5Acreate2, place, "answer", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
	int value = 42;

	CALL(0, H5Awrite, attribute, H5T_NATIVE_INT, &value);
	CALL(0, H5Aclose, attribute);
	attribute = KNOWN(0, H5Aopen, place, "answer", H5P_DEFAULT);
	CALL(0, H5Aread, attribute, H5T_NATIVE_INT, &value);
	CALL(0, H5Aclose, attribute);
	EXPECT(KNOWN(0, H5Aexists, place, "answer") == 1);
	H5Sclose(scalar);
}

int main(int argc, char **argv)
{
	hsize_t count = COUNT;
	double factors[] = {1, 2, 3};
	char path[4096];

	EXPECT(argc == 2);
	snprintf(path, sizeof(path), "%s/truth.h5", argv[1]);
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	hid_t file = KNOWN(0, H5Fcreate, path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t group = KNOWN(0, H5Gcreate2, file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	hid_t space = H5Screate_simple(1, &count, NULL);
	write_and_read(group, space);
	write_chunk(group, space);
	use_attributes(group);
	CALL(0, H5LTmake_dataset_int, group, "easy", 1, &count, values);
	CALL(0, H5LTread_dataset_int, group, "easy", others);
	CALL(sizeof(factors), H5LTset_attribute_double, group, "easy", "factors", factors, 3);
	EXPECT(KNOWN(0, H5Lexists, group, "easy", H5P_DEFAULT) == 1);
	CALL(0, H5Ldelete, group, "easy", H5P_DEFAULT);
	H5Sclose(space);
	CALL(0, H5Gclose, group);
	CALL(0, H5Fflush, file, H5F_SCOPE_GLOBAL);
	CALL(0, H5Fclose, file);
	file = KNOWN(0, H5Fopen, path, H5F_ACC_RDONLY, H5P_DEFAULT);
	group = KNOWN(0, H5Gopen2, file, "group", H5P_DEFAULT);
	CALL(0, H5Gclose, group);
	CALL(0, H5Fclose, file);
	EXPECT(KNOWN_FAILURE(H5Fopen, "/nowhere/none.h5", H5F_ACC_RDONLY, H5P_DEFAULT) < 0);
	known_write(argv[0], argv[1], 0);
	return 0;
}
