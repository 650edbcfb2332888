/* Identifiers of devices: those of every device that the program sees, and of no other.
 *
 * identifiers COUNT   how many devices and sub-devices it sees */
#include "check.h"

int main(int argc, char **argv)
{
    uint32_t count = (uint32_t)strtoul(argv[argc - 1], NULL, 10);

    begin();
    for (uint32_t identifier = 0; identifier < count; identifier++) {
        ze_device_properties_t properties = {ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
        ze_device_handle_t device = zerTranslateIdentifierToDeviceHandle(identifier);

        DO(zeDeviceGetProperties(device, &properties));
        REQUIRE(zerTranslateDeviceHandleToIdentifier(device) == identifier);
    }
    REQUIRE(zerTranslateIdentifierToDeviceHandle(0) == the_device);
    REQUIRE(zerTranslateIdentifierToDeviceHandle(count) == NULL);
    REQUIRE(zerTranslateIdentifierToDeviceHandle(UINT32_MAX) == NULL);
    REQUIRE(zerTranslateDeviceHandleToIdentifier(NULL) == UINT32_MAX);
    return 0;
}
