<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Decides by the stored policy; nothing is sent to the network. */
final class NetworkVerdict
{
    /**
     * @param string|null $entry The entry that decides, in its canonical form.
     * @param string|null $origin Where the entry stands: /allow_out/0, /deny_out/3,
     *   egress_profiles/package-registries.
     * @param VerdictReason $reason entry: that entry; default: no entry matches; protected_network: no sandbox
     *   reaches it; ipv6: sandboxes have none; name_service: names are asked for at the service's own resolver only;
     *   egress_rule: rules name the host.
     * @param NetworkStatus $status Whether the policy is in force.
     */
    public function __construct(
        public readonly string $host,
        public readonly int $port,
        public readonly Verdict $verdict,
        public readonly ?string $entry,
        public readonly ?string $origin,
        public readonly VerdictReason $reason,
        public readonly string $message,
        public readonly NetworkStatus $status,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            host: $fields->string('host'),
            port: $fields->int('port'),
            verdict: $fields->enum('verdict', Verdict::class),
            entry: $fields->stringOrNull('entry'),
            origin: $fields->stringOrNull('origin'),
            reason: $fields->enum('reason', VerdictReason::class),
            message: $fields->string('message'),
            status: $fields->enum('status', NetworkStatus::class),
        );
    }
}
