/* What an emulator that refuses a process has said, in words. */
#include "refusal.h"

#include "channel.h"

/* A device that does not run: `status` is its STATUS register. */
static void set_not_running(const char *path, uint64_t status)
{
    unsigned error = (unsigned)((status & EMUZERO_DEVICE_STATUS_BOOT_ERROR_MASK) >>
                                EMUZERO_DEVICE_STATUS_BOOT_ERROR_SHIFT);

    switch ((status & EMUZERO_DEVICE_STATUS_PHASE_MASK) >> EMUZERO_DEVICE_STATUS_PHASE_SHIFT) {
    case EMUZERO_PHASE_BOOT:
        emuzero_set_error("the emulator at %s takes no programs: a device is not running because "
                          "it refused its firmware image (boot error %u; `emuzero status` shows "
                          "which); start it with another image, or without --firmware",
                          path, error);
        return;
    case EMUZERO_PHASE_DRAINING:
        emuzero_set_error("the emulator at %s takes no programs: a device ends its work and takes "
                          "no new ones; try again, or start another emulator",
                          path);
        return;
    case EMUZERO_PHASE_HALTED:
        emuzero_set_error("the emulator at %s takes no programs: a device halted because of an "
                          "error of its own (`emuzero status` shows it); start it again",
                          path);
        return;
    default:
        emuzero_set_error("the emulator at %s takes no programs: a device has no firmware yet; "
                          "try again, or start it again",
                          path);
    }
}

void emuzero_set_refusal(const char *path, const struct emuzero_welcome *welcome)
{
    switch (welcome->status) {
    case EMUZERO_HANDSHAKE_STATUS_NOT_RUNNING:
        set_not_running(path, welcome->detail);
        return;
    case EMUZERO_HANDSHAKE_STATUS_VERSION:
        emuzero_set_error("the emulator at %s speaks ABI %u.%u, this library %u.%u: use the "
                          "library of the emulator's version",
                          path, welcome->abi_major, welcome->abi_minor,
                          (unsigned)EMUZERO_ABI_MAJOR, (unsigned)EMUZERO_ABI_MINOR);
        return;
    case EMUZERO_HANDSHAKE_STATUS_FULL:
        emuzero_set_error("the emulator at %s takes no more programs: it has no client, "
                          "descriptor or memory left for one (detail %u)",
                          path, welcome->detail);
        return;
    case EMUZERO_HANDSHAKE_STATUS_PERMISSION:
        emuzero_set_error("the emulator at %s belongs to another user; start one of your own",
                          path);
        return;
    default:
        emuzero_set_error("the emulator at %s refuses this process: handshake status %u, "
                          "detail %u",
                          path, welcome->status, welcome->detail);
    }
}
