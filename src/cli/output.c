#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/text.h"

/* Opened against its use: reading from 0 fails, writing to 1 and 2 does. The lowest number that is
 * free is the one wanted. */
static void occupy(int number)
{
    int opened = open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != number)
        close(opened);
}

void output_prepare(void)
{
    for (int number = 0; number <= 2; number++)
        if (fcntl(number, F_GETFD) == -1 && errno == EBADF)
            occupy(number);
    signal(SIGPIPE, SIG_IGN);
}

/* A write that failed earlier is tried again here, so that errno is its own. */
int output_close(struct error *err)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed |= fflush(stdout) != 0;
    int cause = errno;
    failed |= fclose(stdout) != 0;
    cause = cause != 0 ? cause : errno;
    if (!failed)
        return 0;
    error_set(err, ERROR_FAILED, "cannot write standard output: %s",
              cause != 0 ? strerror(cause) : "a part of it is missing");
    return cause == EPIPE ? OUTPUT_READER_LEFT : ERROR_FAILED;
}

void output_error(const char *text)
{
    char line[TEXT_ESCAPED_BYTES(ERROR_TEXT_BYTES)];
    fprintf(stderr, "ahbm-pdes: error: %s\n", text_escape(text, line, sizeof line));
    fflush(stderr);
}
