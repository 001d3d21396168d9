<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class CreateSession implements \JsonSerializable
{
    /**
     * @param Lifetime|null $lifetime `session`: for the time that every session has. `sandbox`: as long as the
     *   sandbox lives, until DELETE ends all such tokens. Default: session.
     * @param Purpose|null $purpose `sandbox`: the token opens the data plane and every private preview. `previews`:
     *   it opens private previews only, so you can give it to a visitor. Default: previews when port is given, else
     *   sandbox.
     * @param int|null $port The token opens the preview of this port only, and nothing else. Use it for links: `<url
     *   of the port>/?access_token=<token>`.
     */
    public function __construct(
        public readonly ?Lifetime $lifetime = null,
        public readonly ?Purpose $purpose = null,
        public readonly ?int $port = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'lifetime' => $this->lifetime,
            'purpose' => $this->purpose,
            'port' => $this->port,
        ]);
    }
}
