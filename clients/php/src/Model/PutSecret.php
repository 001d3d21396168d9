<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** A new secret needs both value and hosts. Of a secret that exists, a member that is left out stays. */
final class PutSecret implements \JsonSerializable
{
    /**
     * @param string|null $team Slug of the team.
     * @param string|null $value Printable characters of ASCII, without line breaks.
     * @param list<string>|null $hosts Hosts that it may be sent to: names, or *. and a name for all names below it.
     *   The star alone stands for any host: then a member of the team can send it to a server of their own.
     */
    public function __construct(
        public readonly ?string $team = null,
        public readonly ?string $value = null,
        public readonly ?array $hosts = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'team' => $this->team,
            'value' => $this->value,
            'hosts' => $this->hosts,
        ]);
    }
}
