<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Network;

use Sandlot\Http\Api;
use Sandlot\Model\AnswerApproval;
use Sandlot\Model\AnsweredApproval;
use Sandlot\Model\Approval;
use Sandlot\Model\ApprovalAnswer;
use Sandlot\Model\EgressProxy;
use Sandlot\Model\EgressRule;
use Sandlot\Model\Explicit;
use Sandlot\Model\CheckNetwork;
use Sandlot\Model\Denial;
use Sandlot\Model\Network;
use Sandlot\Model\NetworkVerdict;
use Sandlot\Model\Operation;
use Sandlot\Model\ReplaceNetwork;

/**
 * The network policy of one sandbox. An entry is a host name, *.example.org, an address or a network; :port after
 * it limits it to this port. The most specific entry decides. Without one, $allowInternetAccess decides.
 */
final class Policy
{
    /** @internal */
    public function __construct(private readonly Api $api, private readonly string $sandboxId)
    {
    }

    public function get(): Network
    {
        return Network::read($this->api->call(Operation::ShowNetwork, $this->path()));
    }

    /**
     * Replaces the whole policy. An argument that you leave out gets its default; only $allowPublicTraffic stays.
     *
     * @param list<string>|null $allowOut
     * @param list<string>|null $denyOut
     * @param list<string>|null $egressProfiles
     * @param list<EgressRule>|null $rules
     */
    public function set(
        ?bool $allowInternetAccess = null,
        ?bool $allowPackageRegistryAccess = null,
        ?bool $allowPublicTraffic = null,
        ?array $allowOut = null,
        ?array $denyOut = null,
        ?string $egressProfile = null,
        ?array $egressProfiles = null,
        ?array $rules = null,
        EgressProxy|Explicit|null $egressProxy = null,
        ?bool $ask = null,
    ): Network {
        $policy = new ReplaceNetwork(...get_defined_vars());
        return Network::read($this->api->call(Operation::ReplaceNetwork, $this->path(), body: $policy));
    }

    /** Compares a destination with the policy, and returns the entry that decides. Makes no connection. */
    public function check(string $host, int $port): NetworkVerdict
    {
        $question = new CheckNetwork(host: $host, port: $port);
        return NetworkVerdict::read($this->api->call(Operation::CheckNetwork, $this->path(), body: $question));
    }

    /**
     * Lists the connections that the policy refused recently, newest first.
     *
     * @return list<Denial>
     */
    public function denials(): array
    {
        return $this->api->call(Operation::ListDenials, $this->path())->objects('denials', Denial::read(...));
    }

    /**
     * Lists the destinations that wait for your answer, newest first, if the policy asks.
     *
     * @return list<Approval>
     */
    public function approvals(): array
    {
        return $this->api->call(Operation::ListApprovals, $this->path())->objects('approvals', Approval::read(...));
    }

    /** Answers for a destination. Give $minutes only with ApprovalAnswer::Minutes. */
    public function approve(
        string $approval,
        ApprovalAnswer $answer = ApprovalAnswer::Once,
        ?int $minutes = null,
    ): AnsweredApproval {
        $path = [...$this->path(), 'approval' => $approval];
        $body = new AnswerApproval($answer, $minutes);
        return AnsweredApproval::read($this->api->call(Operation::AnswerApproval, $path, body: $body));
    }

    /** @return array<string, string> */
    private function path(): array
    {
        return ['id' => $this->sandboxId];
    }
}
