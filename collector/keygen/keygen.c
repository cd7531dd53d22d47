#include "collector/keygen/keygen.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/oid.h>
#include <mbedtls/pk.h>
#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "collector/keygen/san.h"
#include "wire/access.h"

#define PORT "4440"
#define PEM_BYTES 4096
#define TOKEN_BYTES 32 /* bytes before hexadecimal encoding */
#define SERIAL_BYTES 16
#define YEARS 10

enum file { FILE_CERTIFICATE = 0, FILE_KEY, FILE_TOKENS, FILE_CONTROL, FILE_READ, FILES };

static const struct {
	const char *name;
	mode_t mode;
} files[FILES] = {
    [FILE_CERTIFICATE] = {"collector.crt", 0644},
    [FILE_KEY] = {"collector.key", 0600},
    [FILE_TOKENS] = {"tokens", 0600},
    [FILE_CONTROL] = {"control.token", 0600},
    [FILE_READ] = {"read.token", 0600},
};

/* Contents of the files. */
struct material {
	char texts[FILES][PEM_BYTES];
};

/* ---- key and certificate ---- */

struct maker {
	mbedtls_entropy_context entropy;
	mbedtls_ctr_drbg_context random;
	mbedtls_pk_context key;
	mbedtls_x509write_cert certificate;
	mbedtls_mpi serial;
};

static void maker_init(struct maker *maker)
{
	mbedtls_entropy_init(&maker->entropy);
	mbedtls_ctr_drbg_init(&maker->random);
	mbedtls_pk_init(&maker->key);
	mbedtls_x509write_crt_init(&maker->certificate);
	mbedtls_mpi_init(&maker->serial);
}

static void maker_free(struct maker *maker)
{
	mbedtls_mpi_free(&maker->serial);
	mbedtls_x509write_crt_free(&maker->certificate);
	mbedtls_pk_free(&maker->key);
	mbedtls_ctr_drbg_free(&maker->random);
	mbedtls_entropy_free(&maker->entropy);
}

static int make_key(struct maker *maker)
{
	int r =
	    mbedtls_ctr_drbg_seed(&maker->random, mbedtls_entropy_func, &maker->entropy, NULL, 0);
	r = r ? r : mbedtls_pk_setup(&maker->key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));
	return r ? r
		 : mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(maker->key),
				       mbedtls_ctr_drbg_random, &maker->random);
}

static void when(char text[16], time_t at)
{
	struct tm parts;
	gmtime_r(&at, &parts);
	strftime(text, 16, "%Y%m%d%H%M%S", &parts);
}

/* Makes the certificate valid from a day ago, because clocks of other machines may be behind. */
static int set_validity(mbedtls_x509write_cert *certificate)
{
	char from[16], to[16];
	time_t now = time(NULL);
	when(from, now - 86400);
	when(to, now + (time_t)YEARS * 365 * 86400);
	return mbedtls_x509write_crt_set_validity(certificate, from, to);
}

static int set_names(mbedtls_x509write_cert *certificate, struct hk_san *names)
{
	const uint8_t *der;
	size_t size = hk_san_finish(names, &der);
	return mbedtls_x509write_crt_set_extension(certificate, MBEDTLS_OID_SUBJECT_ALT_NAME,
						   MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME),
						   0, der, size);
}

static int describe(struct maker *maker, struct hk_san *names)
{
	mbedtls_x509write_cert *certificate = &maker->certificate;
	mbedtls_x509write_crt_set_version(certificate, MBEDTLS_X509_CRT_VERSION_3);
	mbedtls_x509write_crt_set_md_alg(certificate, MBEDTLS_MD_SHA256);
	mbedtls_x509write_crt_set_subject_key(certificate, &maker->key);
	mbedtls_x509write_crt_set_issuer_key(certificate, &maker->key);
	int r = mbedtls_mpi_fill_random(&maker->serial, SERIAL_BYTES, mbedtls_ctr_drbg_random,
					&maker->random);
	r = r ? r : mbedtls_x509write_crt_set_serial(certificate, &maker->serial);
	r = r ? r : mbedtls_x509write_crt_set_subject_name(certificate, "CN=" HK_ACCESS_NAME);
	r = r ? r : mbedtls_x509write_crt_set_issuer_name(certificate, "CN=" HK_ACCESS_NAME);
	r = r ? r : set_names(certificate, names);
	r = r ? r : set_validity(certificate);
	r = r ? r : mbedtls_x509write_crt_set_basic_constraints(certificate, 1, 0);
	return r ? r
		 : mbedtls_x509write_crt_set_key_usage(certificate,
						       MBEDTLS_X509_KU_DIGITAL_SIGNATURE |
							   MBEDTLS_X509_KU_KEY_CERT_SIGN);
}

static int make_certificate(struct material *material, struct hk_san *names)
{
	struct maker maker;
	maker_init(&maker);
	int r = make_key(&maker);
	r = r ? r : describe(&maker, names);
	r = r ? r
	      : mbedtls_pk_write_key_pem(&maker.key, (unsigned char *)material->texts[FILE_KEY],
					 PEM_BYTES);
	r = r ? r
	      : mbedtls_x509write_crt_pem(&maker.certificate,
					  (unsigned char *)material->texts[FILE_CERTIFICATE],
					  PEM_BYTES, mbedtls_ctr_drbg_random, &maker.random);
	maker_free(&maker);
	if (r != 0) {
		char words[128];
		mbedtls_strerror(r, words, sizeof(words));
		hk_error("cannot make a certificate: %s", words);
		return -EIO;
	}
	return 0;
}

/* ---- tokens ---- */

static int make_token(char text[2 * TOKEN_BYTES + 1])
{
	uint8_t bytes[TOKEN_BYTES];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
		hk_error("no random numbers: %s", strerror(errno));
		return -EIO;
	}
	for (size_t i = 0; i < sizeof(bytes); i++) {
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	}
	return 0;
}

static int make_tokens(struct material *material)
{
	char control[2 * TOKEN_BYTES + 1], look[2 * TOKEN_BYTES + 1];
	int r = make_token(control);
	r = r < 0 ? r : make_token(look);
	if (r < 0) {
		return r;
	}
	snprintf(material->texts[FILE_CONTROL], PEM_BYTES, "control %s\n", control);
	snprintf(material->texts[FILE_READ], PEM_BYTES, "read %s\n", look);
	snprintf(
	    material->texts[FILE_TOKENS], PEM_BYTES,
	    "# A client that sends one of these tokens has the right that its line begins with.\n"
	    "control %s\nread %s\n",
	    control, look);
	return 0;
}

/* ---- files ---- */

static int write_file(int dirfd, enum file file, const char *text)
{
	int fd = openat(dirfd, files[file].name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			files[file].mode);
	if (fd < 0) {
		return -errno;
	}
	int r = fchmod(fd, files[file].mode) < 0 ? -errno : 0;
	size_t size = strlen(text);
	ssize_t done = r < 0 ? 0 : write(fd, text, size);
	r = r < 0		  ? r
	    : done < 0		  ? -errno
	    : (size_t)done < size ? -ENOSPC
	    : fsync(fd) < 0	  ? -errno
				  : 0;
	close(fd);
	if (r < 0) {
		unlinkat(dirfd, files[file].name, 0);
	}
	return r;
}

/* Writes all files or none. */
static int write_files(int dirfd, const char *directory, const struct material *material)
{
	for (int file = 0; file < FILES; file++) {
		int r = write_file(dirfd, (enum file)file, material->texts[file]);
		if (r == 0) {
			continue;
		}
		hk_error("%s/%s: %s%s", directory, files[file].name, strerror(-r),
			 r == -EEXIST ? "; keys are never overwritten: name another directory"
				      : "");
		while (file-- > 0) {
			unlinkat(dirfd, files[file].name, 0);
		}
		return r;
	}
	return 0;
}

static int open_directory(const char *given, char directory[PATH_MAX])
{
	if (mkdir(given, 0700) < 0 && errno != EEXIST) {
		return -errno;
	}
	int fd = open(given, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || !realpath(given, directory)) {
		int r = -errno;
		if (fd >= 0) {
			close(fd);
		}
		return r;
	}
	return fd;
}

/* ---- what to do with them ---- */

/* Quotes DIRECTORY for a shell. */
static void quote(const char *directory, char quoted[4 * PATH_MAX + 3])
{
	bool plain = true;
	char *at = quoted;
	for (const char *c = directory; *c; c++) {
		plain &= strchr("/._-+=:@,", *c) || (*c >= 'a' && *c <= 'z') ||
			 (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
	}
	*at = '\0';
	at = plain ? at : stpcpy(at, "'");
	for (const char *c = directory; *c; c++) {
		at = *c == '\'' ? stpcpy(at, "'\\''") : (*at = *c, at + 1);
	}
	*at = '\0';
	if (!plain) {
		stpcpy(at, "'");
	}
}

static void print_lines(const char *directory)
{
	char host[256] = "HOST", d[4 * PATH_MAX + 3];
	gethostname(host, sizeof(host) - 1);
	quote(directory, d);
	printf("# the root, on %s:\n"
	       "hookcollector --listen tls+tcp://0.0.0.0:" PORT
	       " --token-file %s/%s --tls-cert %s/%s --tls-key %s/%s\n"
	       "# the leaf of every other machine, with its own copy of these two files, or on a "
	       "shared file system:\n"
	       "hookcollector --upstream tls+tcp://%s:" PORT " --token-file %s/%s --tls-ca %s/%s\n"
	       "# to look only; with %s also to change levels:\n"
	       "hookcli top --collector tls+tcp://%s:" PORT " --token-file %s/%s --tls-ca %s/%s\n",
	       host, d, files[FILE_TOKENS].name, d, files[FILE_CERTIFICATE].name, d,
	       files[FILE_KEY].name, host, d, files[FILE_CONTROL].name, d,
	       files[FILE_CERTIFICATE].name, files[FILE_CONTROL].name, host, d,
	       files[FILE_READ].name, d, files[FILE_CERTIFICATE].name);
}

struct options {
	const char *directory;
	struct hk_san names;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	switch (key) {
	case ARGP_KEY_ARG:
		if (!options->directory) {
			options->directory = argument;
			return 0;
		}
		int r = hk_san_add(&options->names, argument);
		if (r < 0) {
			argp_error(state,
				   r == -ENOSPC ? "too many names: no room for '%s'"
						: "'%s' is no host's name and no address",
				   argument);
		}
		return 0;
	case ARGP_KEY_END:
		if (!options->directory) {
			argp_error(state, "a directory for the keys is needed");
		}
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int hk_keygen_main(int argc, char **argv)
{
	static const struct argp parser = {
	    .parser = parse_option,
	    .args_doc = "DIR [NAME...]",
	    .doc = "Makes in DIR what a collector needs to be reached from other machines: a key, "
		   "a certificate, tokens; and prints the commands that use them.\v"
		   "hookcollector and hookcli take the certificate at any address. For browsers, "
		   "curl and Prometheus it bears this machine's names and addresses, and each "
		   "NAME, a host's name or an address.",
	};
	struct options options = {.directory = NULL};
	char directory[PATH_MAX];
	static struct material material;
	argp_err_exit_status = 2;
	(void)hk_san_add(&options.names, HK_ACCESS_NAME);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	hk_san_add_machine(&options.names);
	int fd = open_directory(options.directory, directory);
	if (fd < 0) {
		hk_error("%s: %s", options.directory, strerror(-fd));
		return 1;
	}
	int r = make_certificate(&material, &options.names);
	r = r < 0 ? r : make_tokens(&material);
	r = r < 0 ? r : write_files(fd, directory, &material);
	close(fd);
	explicit_bzero(&material, sizeof(material));
	if (r == 0) {
		print_lines(directory);
		r = fflush(stdout) != 0 ? -errno : 0;
	}
	return r < 0 ? 1 : 0;
}
