<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class UpdateSandbox implements \JsonSerializable
{
    /**
     * @param array<string, mixed>|null $metadata A JSON merge patch: null removes a key.
     * @param int|null $timeout The deadline becomes now + timeout.
     * @param string|null $name A name for people and commands, of no other sandbox of the team: letters, digits,
     *   `.`, `_` and `-`, beginning with a letter or a digit. It is free again when the sandbox is deleted. `new`,
     *   `new-keep` and `keep` have a meaning of their own over SSH. Default null: none.
     * @param bool|null $allowPublicTraffic Whether previews of public ports are open to everyone. Default: true.
     * @param string|null $maskRequestHost What servers in the sandbox see as Host instead of their preview's name: a
     *   host name, with or without a port, in which `${PORT}` stands for the port that is asked.
     */
    public function __construct(
        public readonly ?array $metadata = null,
        public readonly ?int $timeout = null,
        public readonly ?LifecycleRequest $lifecycle = null,
        public readonly ?string $name = null,
        public readonly ?bool $allowPublicTraffic = null,
        public readonly ?string $maskRequestHost = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'metadata' => Members::map($this->metadata),
            'timeout' => $this->timeout,
            'lifecycle' => $this->lifecycle,
            'name' => $this->name,
            'allow_public_traffic' => $this->allowPublicTraffic,
            'mask_request_host' => $this->maskRequestHost,
        ]);
    }
}
