/* Files, variables and attributes of netCDF in both formats: netcdf_truth DIRECTORY. */
#include <netcdf.h>

#include "known.h"

enum { ROWS = 4, COLUMNS = 25 };

#define CALL(bytes, function, ...) EXPECT(KNOWN(bytes, function, __VA_ARGS__) == NC_NOERR)

static void use_file(const char *path, int mode)
{
	static double values[ROWS * COLUMNS], others[ROWS * COLUMNS];
	size_t first[] = {1, 0}, counts[] = {2, COLUMNS}, one[] = {3, 4};
	int file, variable, dimensions[2], answers[] = {42, 43};
	double value = 1.5;

	CALL(0, nc_create, path, mode | NC_CLOBBER, &file);
	CALL(0, nc_def_dim, file, "rows", ROWS, &dimensions[0]);
	CALL(0, nc_def_dim, file, "columns", COLUMNS, &dimensions[1]);
	CALL(0, nc_def_var, file, "values", NC_DOUBLE, 2, dimensions, &variable);
	CALL(5, nc_put_att_text, file, variable, "units", 5, "metre");
	CALL(8, nc_put_att_int, file, variable, "answers", NC_INT, 2, answers);
	CALL(0, nc_enddef, file);
	CALL(0, nc_put_var_double, file, variable, values);
	CALL(0, nc_put_vara_double, file, variable, first, counts, values);
	CALL(8, nc_put_var1_double, file, variable, one, &value);
	CALL(0, nc_sync, file);
	CALL(0, nc_close, file);

	CALL(0, nc_open, path, NC_NOWRITE, &file);
	CALL(0, nc_get_var_double, file, variable, others);
	EXPECT(others[3 * COLUMNS + 4] == value);
	CALL(0, nc_get_vara_double, file, variable, first, counts, others);
	CALL(8, nc_get_var1_double, file, variable, one, &value);
	CALL(0, nc_get_att_int, file, variable, "answers", answers);
	EXPECT(answers[1] == 43);
	CALL(0, nc_close, file);
}

int main(int argc, char **argv)
{
	char path[4096];
	int file;

	EXPECT(argc == 2);
	snprintf(path, sizeof(path), "%s/truth.nc", argv[1]);
	use_file(path, 0);
	use_file(path, NC_NETCDF4);
	EXPECT(KNOWN_FAILURE(nc_open, "/nowhere/none.nc", NC_NOWRITE, &file) != NC_NOERR);
	known_write(argv[0], argv[1], 0);
	return 0;
}
