<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/**
 * With `from_image`, or a `dockerfile` whose `FROM` names an image: the login at the registry of a private
 * image. The service keeps it encrypted, uses it for this build only, and deletes it when the image is fetched
 * or the build ends.
 */
final class RegistryLogin implements \JsonSerializable
{
    public function __construct(
        public readonly string $user,
        public readonly string $password,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'user' => $this->user,
            'password' => $this->password,
        ]);
    }
}
